package causes

import (
	"fmt"
	"strings"

	"github.com/mpitrace/mpitrace/internal/text"
	"github.com/mpitrace/mpitrace/profile"
)

// siteWidth is the number of characters to which call sites are shortened in sentences, which may have several.
const siteWidth = 48

// String returns the call and its call site, without the callers of the site: "Recv at solve app.f90:10".
func (s Stop) String() string {
	site, _, _ := strings.Cut(s.Callsite, profile.Callers)
	if site == "" {
		return s.Call
	}
	return s.Call + " at " + text.Site(site, siteWidth, false)
}

// String says where the burst is: "between Recv at solve app.f90:10 and Send at solve app.f90:31".
func (b Burst) String() string {
	if b.Before == b.After {
		return "between two calls of " + b.Before.String()
	}
	return fmt.Sprintf("between %s and %s", b.Before, b.After)
}
