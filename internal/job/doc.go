// Package job describes training jobs: their specification, their state, and the places of their files.
// An Engine runs jobs; each engine is a package below this one.
//
// A job has attempts, counted from 1. One failed rank ends an attempt, because peers of a collective
// cannot rejoin; all ranks then start again as the next attempt. With RestartRank the engine restarts
// the one rank in place.
//
// The files of a job are below /pfs/DC/home/USER/jobs/NAME (see Dir):
//
//	package/                         a package that was uploaded from a local directory
//	job.json                         the Record
//	logs/N/ROLE-INDEX/               standard output and error of one rank in attempt N
//	attempts/N/ROLE-INDEX/           outputs of one rank in attempt N, with _MANIFEST and a marker
//	attempts/N/ROLE-INDEX/restarts/R/  the same after restart R in place
//	attempts/N/_SUCCESS              written last, when every trainer has its own
package job
