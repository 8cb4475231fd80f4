// Package local is the job.Engine whose workers are processes of this machine. They run as the user who
// submits the job.
//
// A job has a supervisor, a process that continues when the command has ended. It starts one launcher for
// each rank, which runs the entry (package launch), and it uploads outputs and logs (package output).
// Options.Command makes the command lines of both: the program calls Supervise and Launch in them.
//
// The whole state of a supervisor is on disk. If it dies, the launchers continue, and the next use of the
// Engine starts another supervisor, which takes over. A process is alive as long as its lock is held, so
// a reused process ID is never mistaken for the old process.
//
// The directory of a job, below Options.Dir:
//
//	state.json           the Record, and the supervisor's own state
//	environ              the environment in which the job was submitted
//	kill                 a request to end the job
//	lock                 held by the supervisor
//	supervisor.log       its messages
//	package/             a copy of the package
//	inputs/              links to the copies of the inputs
//	attempts/N/ROLE-INDEX/R/   a job.RankDir: attempt N, after R restarts in place
//
// Beside it is the mount of the job, in a directory with the same name and ".mnt".
//
// # Files
//
//	options        options, for all systems
//	engine         the Engine; starting supervisors
//	logs           Engine.Logs
//	state          the files of a job
//	supervise      the supervisor, from the package to the end of the last attempt
//	attempt        one attempt: failures, restarts, the end of all its ranks
//	run            one run of a rank: its launcher and its uploader
//	limits         control groups
//	processes      locks; the processes of a run; the clock
//	publish        the record in the store
//	ports          free ports
//	other          systems without it
package local
