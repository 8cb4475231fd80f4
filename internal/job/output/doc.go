// Package output uploads the outputs of a job to the store and records whether they are complete.
//
// Each run of a rank has a directory on the store (job.OutputDir, or RestartDir below it):
//
//	the files of $PFS_OUTPUT, under their own names
//	NAME/          the files of each further output directory, under its last element
//	restarts/R/    the same after restart R in place
//	_UPLOADING     the ID of the running uploader; removed at the end
//	_MANIFEST      path, size, digest and mode of each file, and the entries that were left out
//	_SUCCESS, _FAILED or _INCOMPLETE
//
// The last one is the marker, which is written last. Consumers trust only a marker: without one the
// outputs are not complete, whatever other files exist. The marker has the digest of the manifest, which
// has the digests of the files.
//
// Upload copies files while the job runs, as soon as they are stable. A file is stable if it has not
// changed for Options.Settle. When the exit record exists, Upload copies the files that have changed
// since, compares all files at the store with the sent ones, and commits. Directories without files are
// not kept.
//
// If an uploader dies with its machine or pod, Abandon ends the run with Incomplete, without a manifest.
//
// # Files
//
//	upload, scan, copy   the uploader: its passes, finding files, copying them
//	logs                 the log files of the rank
//	claim, lock_*        one uploader for a run of a rank
//	commit               comparing the files at the store; writing manifest and marker
//	abandon              the end of runs that have no uploader any more
//	manifest, marker     the formats
//	verify, attempt      for consumers: the outputs of a rank and of an attempt
//	small                small files on the store
//	settle_*             writing changes of mapped memory to files before they are read
package output
