package report

import (
	"fmt"
	"strings"

	"github.com/mpitrace/mpitrace/aggregate"
)

// variablesText prints the control variables of the MPI library that were set.
// Variables that the library refused are listed as problems.
func (s *summaryText) variablesText() {
	var parts []string
	for _, v := range s.Variables {
		where := v.From
		if v.From == aggregate.FromCvar {
			if v.Refused != "" {
				continue
			}
			where = "--cvar"
			if v.Ranks.Len() < len(s.Ranks) {
				where += v.On()
			}
		}
		if v.Name != "" {
			parts = append(parts, fmt.Sprintf("%s=%s (%s)", s.clean(v.Name), s.clean(aggregate.ShortValue(v.Value)), where))
		}
	}
	if len(parts) == 0 {
		return
	}
	if more := len(parts) - textVariables; more > 0 {
		parts = append(parts[:textVariables], fmt.Sprintf("and %d more", more))
	}
	s.printf("MPI variables set: %s\n", strings.Join(parts, ", "))
}
