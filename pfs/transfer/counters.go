package transfer

import "sync/atomic"

// counters are the Stats of a running job.
type counters struct {
	files, bytes                                     atomic.Int64
	complete                                         atomic.Bool
	filesDone, bytesDone, bytesResumed, bytesSkipped atomic.Int64
	dirs, skipped, omitted, failed, deleted, retries atomic.Int64
	same, missing, extra, different                  atomic.Int64
}

func (c *counters) stats() Stats {
	return Stats{
		Files: c.files.Load(), Bytes: c.bytes.Load(), Complete: c.complete.Load(),
		FilesDone: c.filesDone.Load(), BytesDone: c.bytesDone.Load(),
		BytesResumed: c.bytesResumed.Load(), BytesSkipped: c.bytesSkipped.Load(),
		Dirs: c.dirs.Load(), Skipped: c.skipped.Load(), Omitted: c.omitted.Load(),
		Failed: c.failed.Load(), Deleted: c.deleted.Load(), Retries: c.retries.Load(),
		Same: c.same.Load(), Missing: c.missing.Load(), Extra: c.extra.Load(), Different: c.different.Load(),
	}
}
