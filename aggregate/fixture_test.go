package aggregate

import "github.com/mpitrace/mpitrace/tests/jobs"

const (
	ms     = jobs.MS
	second = jobs.Second
	start  = jobs.Start

	siteRecv    = jobs.SiteRecv
	siteIrecv   = jobs.SiteIrecv
	siteWaitall = jobs.SiteWaitall
)

var (
	fixture, fixtureRank           = jobs.Fixture, jobs.FixtureRank
	sampledFixture, untimedFixture = jobs.Sampled, jobs.Untimed
	changedFixture, sent           = jobs.Changed, jobs.Sent
	hung, hungRank, timedOut       = jobs.Hung, jobs.HungRank, jobs.TimedOut
	at, recvFrom                   = jobs.At, jobs.RecvFrom
	watched, sliced                = jobs.Watched, jobs.Sliced
	sitesOfRank, computing         = jobs.SitesOfRank, jobs.Computing
	asked, withVariables           = jobs.Asked, jobs.WithVariables
)
