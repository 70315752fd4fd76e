// Passive fibre shuffle: fibre j of near end i meets fibre i of far end j. Wiring only.
//
// It lies in the middle of the lightpaths, so each direction of the mesh has one: NIC to module and module to NIC.

module fiber_shuffle #(
  parameter int unsigned Near = 4,
  parameter int unsigned Far = 4
) (
  input  logic [Near-1:0][Far-1:0] near_i,
  output logic [Far-1:0][Near-1:0] far_o
);

  for (genvar i = 0; i < Near; i++) begin : gen_near
    for (genvar j = 0; j < Far; j++) begin : gen_far
      assign far_o[j][i] = near_i[i][j];
    end
  end

endmodule
