package pfstest

import (
	"io/fs"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/digest"
)

var batchPromises = []promise{
	{says: "WriteBatch makes files and directories in order", check: checkBatch},
	{says: "WriteBatch keeps mode, time and digest", check: checkBatchInfo},
	{says: "an entry that fails leaves the others alone", check: checkBatchPartial},
	{says: "an entry replaces a file, or answers Exist with NoReplace", check: checkBatchOver, needs: NoExclusiveCommit},
	{says: "an entry replaces a link itself", check: checkBatchOverLink, needs: NoSymlink},
	{says: "a large entry is written whole", check: checkBatchLarge},
	{says: "an empty batch is no error", check: checkBatchEmpty},
}

// batch makes the entries and fails if one of them fails.
func (e *env) batch(entries ...pfs.BatchEntry) {
	e.Helper()
	errs := pfs.WriteBatch(e.ctx, e.fs, entries)
	if len(errs) != len(entries) {
		e.Fatalf("%d errors for %d entries", len(errs), len(entries))
	}
	for _, err := range errs {
		e.ok(err)
	}
}

func checkBatch(e *env) {
	data := Pattern(1, 5000)
	e.batch(
		pfs.BatchEntry{Path: "/dir", Mode: fs.ModeDir | 0o755},
		pfs.BatchEntry{Path: "/dir/f", Data: data},
		pfs.BatchEntry{Path: "/dir/sub", Mode: fs.ModeDir | 0o755},
		pfs.BatchEntry{Path: "/dir/sub/empty"},
		pfs.BatchEntry{Path: "/dir", Mode: fs.ModeDir | 0o755},
		pfs.BatchEntry{Path: "/twice", Data: []byte("first")},
		pfs.BatchEntry{Path: "/twice", Data: []byte("second")},
	)
	clear(data)
	WantNames(e, e.fs, pfs.Root, "dir", "twice")
	WantNames(e, e.fs, "/dir", "f", "sub")
	WantFile(e, e.fs, "/dir/f", Pattern(1, 5000))
	WantFile(e, e.fs, "/dir/sub/empty", nil)
	WantFile(e, e.fs, "/twice", []byte("second"))
}

func checkBatchInfo(e *env) {
	data := Pattern(1, 100)
	e.batch(
		pfs.BatchEntry{Path: "/dir", Mode: fs.ModeDir | 0o700},
		pfs.BatchEntry{Path: "/f", Data: data, Mode: 0o600, ModTime: time.Unix(1e9, 0), Digest: digest.Bytes(data)},
		pfs.BatchEntry{Path: "/now", Data: data},
	)
	f, now, dir := MustStat(e, e.fs, "/f"), MustStat(e, e.fs, "/now"), MustStat(e, e.fs, "/dir")
	e.sameSecond("time", f.ModTime, time.Unix(1e9, 0))
	if time.Since(now.ModTime).Abs() > time.Minute {
		e.Errorf("the zero time is kept as %v, want now", now.ModTime)
	}
	if !e.lacks(NoMode) && (f.Mode != 0o600 || now.Mode != 0o644 || dir.Mode != fs.ModeDir|0o700) {
		e.Errorf("modes %v, %v, %v", f.Mode, now.Mode, dir.Mode)
	}
	if !e.lacks(NoKeptDigest) && f.Digest != digest.Bytes(data) {
		e.Errorf("digest = %q, want %q", f.Digest, digest.Bytes(data))
	}
	e.wantDigest(now, data)
}

func checkBatchPartial(e *env) {
	WriteFile(e, e.fs, "/there", []byte("old"))
	MustMkdir(e, e.fs, "/dir")
	batch := []struct {
		entry pfs.BatchEntry
		want  pfs.Kind
	}{
		{pfs.BatchEntry{Path: "/a", Data: []byte("a")}, 0},
		{pfs.BatchEntry{Path: "/missing/f", Data: []byte("x")}, pfs.NotExist},
		{pfs.BatchEntry{Path: "/dir", Data: []byte("x")}, pfs.IsDir},
		{pfs.BatchEntry{Path: "/b", Data: []byte("b")}, 0},
		{pfs.BatchEntry{Path: "/there", Mode: fs.ModeDir | 0o755}, pfs.Exist},
		{pfs.BatchEntry{Path: "/there/f", Data: []byte("x")}, pfs.NotDir},
		{pfs.BatchEntry{Path: "/../f", Data: []byte("x")}, pfs.Invalid},
		{pfs.BatchEntry{Path: "/.pfs-f", Data: []byte("x")}, pfs.Invalid},
		{pfs.BatchEntry{Path: "/dir/c", Data: []byte("c")}, 0},
	}
	entries := make([]pfs.BatchEntry, len(batch))
	for i, b := range batch {
		entries[i] = b.entry
	}
	errs := pfs.WriteBatch(e.ctx, e.fs, entries)
	if len(errs) != len(entries) {
		e.Fatalf("%d errors for %d entries", len(errs), len(entries))
	}
	for i, b := range batch {
		if b.want != 0 {
			WantKind(e, errs[i], b.want)
			continue
		}
		e.ok(errs[i])
		WantFile(e, e.fs, b.entry.Path, b.entry.Data)
	}
	WantNames(e, e.fs, pfs.Root, "a", "b", "dir", "there")
	WantNames(e, e.fs, "/dir", "c")
	WantFile(e, e.fs, "/there", []byte("old"))
}

func checkBatchOver(e *env) {
	WriteFile(e, e.fs, "/f", []byte("old"))
	errs := pfs.WriteBatch(e.ctx, e.fs, []pfs.BatchEntry{{Path: "/f", Data: []byte("new"), NoReplace: true}})
	e.want(errs[0], pfs.Exist, "/f")
	WantFile(e, e.fs, "/f", []byte("old"))
	e.batch(
		pfs.BatchEntry{Path: "/f", Data: []byte("new")},
		pfs.BatchEntry{Path: "/g", Data: []byte("new"), NoReplace: true},
	)
	WantFile(e, e.fs, "/f", []byte("new"))
	WantFile(e, e.fs, "/g", []byte("new"))
}

func checkBatchOverLink(e *env) {
	WriteFile(e, e.fs, "/target", []byte("target"))
	MustLink(e, e.fs, "target", "/link")
	e.batch(pfs.BatchEntry{Path: "/link", Data: []byte("file")})
	WantFile(e, e.fs, "/link", []byte("file"))
	WantFile(e, e.fs, "/target", []byte("target"))
}

func checkBatchLarge(e *env) {
	data := Pattern(1, pfs.ChunkSize+10)
	e.batch(pfs.BatchEntry{Path: "/f", Data: data}, pfs.BatchEntry{Path: "/g", Data: data[:10]})
	WantFile(e, e.fs, "/f", data)
	WantFile(e, e.fs, "/g", data[:10])
}

func checkBatchEmpty(e *env) {
	if errs := pfs.WriteBatch(e.ctx, e.fs, nil); len(errs) != 0 {
		e.Errorf("errors of an empty batch: %v", errs)
	}
}
