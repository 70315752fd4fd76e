// Host physical address to (module, device physical address): the first enabled decoder that claims the line wins.
//
// Way = (offset / granularity) mod ways; the address on the module packs the chunks of that way.

module nic_hdm_decode
  import pf_pkg::*;
  import pf_hdm_pkg::*;
(
  input  hdm_decoder_t [Decoders-1:0] decoders_i,
  input  logic                        valid_i,
  input  hpa_line_t                   line_i,
  output logic                        hit_o,
  output logic [3:0]                  module_o,
  output dpa_line_t                   dpa_line_o
);

  localparam logic [3:0] LineLog2 = 4'd6;

  always_comb begin
    hit_o = 1'b0;
    module_o = '0;
    dpa_line_o = '0;
    if (valid_i) begin
      for (int unsigned d = 0; d < Decoders; d++) begin
        if (decoders_i[d].enable && line_i >= decoders_i[d].base) begin
          automatic hpa_line_t offset = line_i - decoders_i[d].base;
          automatic logic [3:0] gran = decoders_i[d].gran_log2 - LineLog2;
          automatic hpa_line_t chunk = offset >> gran;
          automatic logic [3:0] way = chunk[3:0] & ~(4'hF << decoders_i[d].ways_log2);
          if (offset < decoders_i[d].size) begin
            hit_o = 1'b1;
            module_o = decoders_i[d].targets[way];
            dpa_line_o = decoders_i[d].dpa_base + dpa_line_t'((chunk >> decoders_i[d].ways_log2) << gran)
                + dpa_line_t'(offset & ~(~hpa_line_t'(0) << gran));
            break;
          end
        end
      end
    end
  end

endmodule
