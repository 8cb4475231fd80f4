// Package stagefs lets every program write to stores without random writes, such as HDFS. It is for
// mounts, and needs Linux.
//
// # Streaming and staging
//
// Below directories without pfs.CanWriteRandom, all open handles of one file share its state. A file
// that is written from start to end, or at its end, is streamed: its bytes go to a handle of the store
// as they are written. The first other change (a write elsewhere, a truncation) fetches the content
// into a local file, and from then on the handles read and write the local file: the file is staged.
// Sync, Flush and Close upload a changed staged file as a whole, and return when it has replaced the
// file on the store. The upload is verified, and readers of the store see the old or the new file. For
// users of this file system, the file keeps its mode, owner, extended attributes and Info.ID. When the
// last handle is closed, the local file is removed.
//
// An upload replaces changes that others have made to the file since it was staged, and the log says
// so: the last close wins, as with NFS. If others have removed the file, the upload answers Stale, and
// the staged content is kept.
//
// A file that is removed or replaced through this file system stays usable for its handles.
//
// # What survives
//
// A staged file that differs from the store has a record beside its data. Its states:
//
//	open        a handle has changes that were not closed
//	pending     it was closed, but the upload failed or did not end
//	incomplete  it was open when the process ended
//
// The upload of a pending file is retried twice a minute, and after a restart, unless others have
// changed the file on the store in the meantime. An incomplete file is kept until Publish or Discard.
//
// A streamed file has a tail: a local file with the bytes, at most 256 MiB, that the store has
// received and not synced. If the store loses or damages them, they are sent again.
//
// With Options.Resume, handles of a process that has died can be continued: an incomplete file stays
// open, a streamed file is completed on the store, and a file that was removed while it was open is
// kept.
//
// # On disk
//
// The directory of Options.Dir has mode 0700. Two processes cannot use it at once.
//
//	ID.data   the content
//	ID.json   the record
//	lock      is locked while a process uses the directory, and has the IDs that users know
//
// A twentieth of the disk stays free: writes that would need this space answer NoSpace, and change
// nothing.
//
// # Files
//
//	stagefs, names              the file system; operations that move or replace names
//	file, handle                a file with its open handles; a handle
//	stage, record, disk_linux  the local file; its record; system calls
//	tail                       unsynced bytes of streamed files; handles that continue after a crash
//	publish                     uploads; Status, Flush, Publish and Discard
package stagefs
