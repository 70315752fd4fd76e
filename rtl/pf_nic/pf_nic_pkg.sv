// What the parts of the NIC tell each other.

package pf_nic_pkg;

  import pf_pkg::*;

  /// Requests that the NIC takes in a cycle at most: index 0 and 1 are those with data (RwD), 2 and 3 those without (Req).
  localparam int unsigned Slots = 4;

  /// What the NIC remembers of a transaction that is out.
  typedef struct packed {
    logic        is_read;
    logic [3:0]  target;    // its path
    logic [3:0]  ld_id;
    logic [15:0] host_tag;
  } tag_info_t;

  /// Why the NIC answers by itself.
  typedef enum logic [1:0] {
    LocalDone  = 2'd0,  // nothing to be done (MemInv)
    LocalNoHit = 2'd1,  // no decoder claims the address
    LocalDead  = 2'd2   // the path to the module is dead
  } local_kind_e;

  typedef struct packed {
    local_kind_e kind;
    logic        is_read;
    logic [3:0]  ld_id;
    logic [15:0] host_tag;
  } local_t;

endpackage
