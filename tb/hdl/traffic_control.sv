// Phases of the traffic engines: all of a phase start together, and the next starts when all have ended.
//
// After each phase the counters are read (check_pkg::reporting), so a run holds several measurements. Hosts for which there is a
// descriptor are engines for the whole run, the others are emulated.

module traffic_control
  import pf_pkg::*;
  import emu_dpi_pkg::*;
  import traffic_pkg::*;
#(
  parameter int unsigned Hosts = 2
) (
  input  logic             clk_i,
  input  logic             rst_ni,
  input  logic [Hosts-1:0] busy_i,
  output logic [Hosts-1:0] engines_o,
  output logic [31:0]      phase_o,
  output logic             load_o,
  /// The counters of a phase can be read.
  output logic             report_o,
  /// Phases are left or under way.
  output logic             busy_o
);

  typedef enum logic [2:0] {
    First  = 3'd0,
    Load   = 3'd1,
    Settle = 3'd2,
    Run    = 3'd3,
    Report = 3'd4,
    Rest   = 3'd5,
    Ended  = 3'd6
  } state_e;

  state_e state_q;

  assign load_o = state_q == Load;
  assign report_o = state_q == Report;
  assign busy_o = state_q != Ended;

  task automatic clear_modules();
    for (int unsigned i = 0; i < ModulesMax * 2 * Bins; i++) module_hist[i] = 0;
  endtask

  task automatic report_modules();
    for (int unsigned m = 0; m < ModulesMax; m++) begin
      for (int unsigned i = 0; i < 2 * Bins; i++) begin
        if (module_hist[m*2*Bins+i] != 0)
          emu_counter(i < Bins ? "module_read_ns" : "module_write_ns", m, i % Bins, longint'(module_hist[m*2*Bins+i]));
      end
    end
  endtask

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q <= First;
      phase_o <= '0;
      engines_o <= '0;
    end else begin
      case (state_q)
        First: begin
          automatic logic [Hosts-1:0] engines = '0;
          for (int unsigned h = 0; h < Hosts; h++) engines[h] = emu_engine_host(h) != 0;
          engines_o <= engines;
          state_q <= emu_engine_phases() == 0 ? Ended : Load;
        end
        Load: begin
          clear_modules();
          state_q <= Settle;
        end
        Settle: state_q <= Run;
        Run: if (busy_i == '0) state_q <= Report;
        Report: state_q <= Rest;
        Rest: begin
          phase_o <= phase_o + 1;
          state_q <= phase_o + 1 < emu_engine_phases() ? Load : Ended;
        end
        default: ;
      endcase
      if (check_pkg::reporting && state_q == Rest) report_modules();
    end
  end

  // -ln(u) over a part from a to b: (a ln a - b ln b + b - a) / (b - a).
  initial begin
    for (int i = 0; i < 256; i++) begin
      automatic real a = real'(i) / 256.0;
      automatic real b = real'(i + 1) / 256.0;
      automatic real low = i == 0 ? 0.0 : a * $ln(a);
      exponential[i] = longint'($rtoi(65536.0 * ((low - b * $ln(b) + b - a) * 256.0)));
    end
  end

endmodule
