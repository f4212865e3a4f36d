package calls

import (
	"regexp"
	"slices"
)

// since40 matches the names of the functions that MPI 4.0 added. (standard.txt
// does not tell them from older ones.)
var since40 = regexp.MustCompile(`^(Session_|Pready|(Precv|Psend)_init$|Parrived$|Isendrecv|Info_(create_env|get_string)$|` +
	`Comm_(create_from_group|idup_with_info)$|Group_from_session_pset$|Intercomm_create_from_groups$|T_category_get_(num_)?events$|` +
	`(Neighbor_all(gatherv?|toall[vw]?)|Barrier|Bcast|Reduce|Allreduce|Gatherv?|Scatterv?|Allgatherv?|Alltoall[vw]?|Reduce_scatter(_block)?|Scan|Exscan)_init$)`)

// Everywhere lists the functions that the library intercepts and every MPI has
// since version 3.1 of the Standard, named as in Table.
func Everywhere() []string {
	var all []string
	for _, f := range Library {
		if f.Wrapped && !f.Optional {
			all = append(all, f.Name)
		}
	}
	for i := range Table {
		if name := Table[i].Name; isOfMPI31(name) {
			all = append(all, name)
		}
	}
	return all
}

func isOfMPI31(name string) bool {
	i := slices.IndexFunc(Standard, func(p Procedure) bool { return p.Name == name })
	return i >= 0 && Standard[i].From == "4.0" && !since40.MatchString(name)
}
