// Package launch runs the entry of one rank of a job, in a pod or as a process of this machine.
//
// Environ makes the environment that programs expect. Run starts the entry in a process group, forwards
// signals to it, writes its output to log files, ends all processes that it leaves behind, and writes
// the exit record. The files are those of job.RankDir, which the uploader reads.
//
// Run needs Linux.
//
// # Files
//
//	environ, pai         the environment of a rank; that of jobs of OpenPAI
//	options              options, trainer_id and trainer_count, the exit record
//	run_linux            the entry: its start, signals and end
//	run_other            systems without it
//	processes_linux      the descendants of this process; kills for lack of memory
//	log                  the log files
package launch
