package pfstest

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/digest"
)

var batchPromises = []promise{
	{says: "WriteBatch makes files and directories in order", check: func(e *env) {
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
	}},
	{says: "WriteBatch keeps mode, time and digest", check: func(e *env) {
		data := Pattern(1, 100)
		e.batch(
			pfs.BatchEntry{Path: "/dir", Mode: fs.ModeDir | 0o700},
			pfs.BatchEntry{Path: "/dir/f"},
			pfs.BatchEntry{Path: "/f", Data: data, Mode: 0o600, ModTime: time.Unix(1e9, 123456789), Digest: digest.Bytes(data)},
			pfs.BatchEntry{Path: "/now", Data: data},
		)
		f, now, dir := MustStat(e, e.fs, "/f"), MustStat(e, e.fs, "/now"), MustStat(e, e.fs, "/dir")
		e.sameTime("time", f.ModTime, time.Unix(1e9, 123456789))
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
	}},
	{says: "an entry that fails does not affect the others", check: func(e *env) {
		WriteFile(e, e.fs, "/there", []byte("old"))
		MustMkdir(e, e.fs, "/dir")
		WriteFile(e, e.fs, "/dir/there", nil)
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
			{pfs.BatchEntry{Path: "/.pfs-quota", Data: []byte("x")}, pfs.Invalid},
			{pfs.BatchEntry{Path: "/dir/c", Data: []byte("c")}, 0},
		}
		if e.lacks(NoEmptyDir) {
			batch = slices.Delete(batch, 1, 2) // a file may make its directories
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
		WantNames(e, e.fs, "/dir", "c", "there")
		WantFile(e, e.fs, "/there", []byte("old"))
	}},
	{says: "an entry replaces a file, or answers Exist with NoReplace", needs: NoExclusiveCommit, check: func(e *env) {
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
	}},
	{says: "an entry replaces a link itself", needs: NoSymlink, check: func(e *env) {
		WriteFile(e, e.fs, "/target", []byte("target"))
		MustLink(e, e.fs, "target", "/link")
		e.batch(pfs.BatchEntry{Path: "/link", Data: []byte("file")})
		WantFile(e, e.fs, "/link", []byte("file"))
		WantFile(e, e.fs, "/target", []byte("target"))
	}},
	{says: "a large entry is written whole", check: func(e *env) {
		data := Pattern(1, pfs.ChunkSize+10)
		e.batch(pfs.BatchEntry{Path: "/f", Data: data}, pfs.BatchEntry{Path: "/g", Data: data[:10]})
		WantFile(e, e.fs, "/f", data)
		WantFile(e, e.fs, "/g", data[:10])
	}},
	{says: "an empty batch succeeds", check: func(e *env) {
		if errs := pfs.WriteBatch(e.ctx, e.fs, nil); len(errs) != 0 {
			e.Errorf("errors of an empty batch: %v", errs)
		}
	}},
	{says: "ReadBatch reads and describes files whole", check: func(e *env) {
		content := map[pfs.Path][]byte{"/a": Pattern(1, 5000), "/d/b": Pattern(2, 1), "/d/empty": {}}
		e.ok(e.fs.Mkdir(e.ctx, "/d", 0o755))
		for name, data := range content {
			WriteFile(e, e.fs, name, data)
		}
		files := asked(content)
		for _, err := range pfs.ReadBatch(e.ctx, e.fs, files) {
			e.ok(err)
		}
		e.wantRead(files, content)
		if errs := pfs.ReadBatch(e.ctx, e.fs, nil); len(errs) != 0 {
			e.Errorf("%d errors for no file", len(errs))
		}
	}},
	{says: "ReadBatch returns an error for each file that it cannot read", check: func(e *env) {
		MustMkdir(e, e.fs, "/d")
		WriteFile(e, e.fs, "/d/f", nil)
		WriteFile(e, e.fs, "/f", []byte("abc"))
		tests := []struct {
			name pfs.Path
			size int
			want error
		}{
			{"/f", 3, nil},
			{"/missing", 3, pfs.NotExist},
			{"/f", 2, pfs.Conflict},
			{"/f", 4, pfs.Conflict},
			{"/d", 0, pfs.IsDir},
			{"no path", 3, pfs.Invalid},
			{"/f", 3, nil},
		}
		files := make([]pfs.BatchFile, len(tests))
		for i, tt := range tests {
			files[i] = pfs.BatchFile{Path: tt.name, Data: make([]byte, tt.size)}
		}
		for i, err := range pfs.ReadBatch(e.ctx, e.fs, files) {
			tt := tests[i]
			if !errors.Is(err, tt.want) {
				e.Errorf("%s as %d bytes: %v, want %v", tt.name, tt.size, err, tt.want)
			}
			if tt.want == nil && string(files[i].Data) != "abc" {
				e.Errorf("%s: read %q", tt.name, files[i].Data)
			}
		}
	}},
	{says: "ReadBatch reads more than one request holds", check: func(e *env) {
		content := map[pfs.Path][]byte{"/large": Pattern(3, 2*pfs.ChunkSize+1)}
		for i := range 5 {
			content[pfs.Path(fmt.Sprint("/part", i))] = Pattern(uint64(i), pfs.ChunkSize/2)
		}
		for name, data := range content {
			WriteFile(e, e.fs, name, data)
		}
		files := asked(content)
		for _, err := range pfs.ReadBatch(e.ctx, e.fs, files) {
			e.ok(err)
		}
		e.wantRead(files, content)
	}},
	{says: "ReadRanges reads many ranges of many files, of the versions that are asked for", check: func(e *env) {
		content := map[pfs.Path][]byte{"/a": Pattern(1, 70_000), "/b": Pattern(2, 5000), "/empty": {}, "/large": Pattern(3, 2*pfs.ChunkSize+5)}
		for name, data := range content {
			WriteFile(e, e.fs, name, data)
		}
		whole := pfs.Range{Path: "/large", Data: make([]byte, 2*pfs.ChunkSize+100)} // more than a request holds
		ranges := []pfs.Range{whole, {Path: "/empty", Data: make([]byte, 1)}, {Path: "/b", Off: 6000, Data: make([]byte, 1)}, {Path: "/a"}}
		for i := range 2500 {
			name := []pfs.Path{"/a", "/b"}[i%2]
			ranges = append(ranges, pfs.Range{Path: name, Version: MustStat(e, e.fs, name).Version, Off: int64(i * 7919 % 4990), Data: make([]byte, 1+i%20)})
		}
		asked := slices.Clone(ranges)
		for i, err := range pfs.ReadRanges(e.ctx, e.fs, ranges) {
			e.ok(err)
			data := content[asked[i].Path]
			from := min(asked[i].Off, int64(len(data)))
			want := data[from:min(from+int64(len(asked[i].Data)), int64(len(data)))]
			if !bytes.Equal(ranges[i].Data, want) {
				e.Fatalf("range %d, %d bytes of %s at %d: other bytes than were written", i, len(asked[i].Data), asked[i].Path, asked[i].Off)
			}
		}
		if errs := pfs.ReadRanges(e.ctx, e.fs, nil); len(errs) != 0 {
			e.Errorf("%d errors for no range", len(errs))
		}
	}},
	{says: "ReadRanges returns an error for each range that it cannot read", check: func(e *env) {
		MustMkdir(e, e.fs, "/d")
		WriteFile(e, e.fs, "/d/f", nil) // an object store has no empty directory
		WriteFile(e, e.fs, "/f", []byte("abc"))
		WriteFile(e, e.fs, "/gone", []byte("abc"))
		before, gone := MustStat(e, e.fs, "/f").Version, MustStat(e, e.fs, "/gone").Version
		e.ok(e.fs.Remove(e.ctx, "/gone"))
		WriteFile(e, e.fs, "/f", []byte("ABCD"))
		tests := []struct {
			name    pfs.Path
			version string
			off     int64
			want    error
		}{
			{"/f", "", 1, nil},
			{"/f", before, 1, pfs.Conflict},
			{"/gone", gone, 0, pfs.Conflict},
			{"/gone", "", 0, pfs.NotExist},
			{"/d", "", 0, pfs.IsDir},
			{"no path", "", 0, pfs.Invalid},
			{"/f", "", -1, pfs.Invalid},
			{"/f", MustStat(e, e.fs, "/f").Version, 1, nil},
		}
		ranges := make([]pfs.Range, len(tests))
		for i, tt := range tests {
			ranges[i] = pfs.Range{Path: tt.name, Version: tt.version, Off: tt.off, Data: make([]byte, 2)}
		}
		for i, err := range pfs.ReadRanges(e.ctx, e.fs, ranges) {
			tt := tests[i]
			if !errors.Is(err, tt.want) {
				e.Errorf("%s at %d: %v, want %v", tt.name, tt.off, err, tt.want)
			}
			if tt.want == nil && string(ranges[i].Data) != "BC" {
				e.Errorf("%s: read %q", tt.name, ranges[i].Data)
			}
		}
	}},
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

// asked returns the files with buffers of their lengths.
func asked(content map[pfs.Path][]byte) (files []pfs.BatchFile) {
	for _, name := range slices.Sorted(maps.Keys(content)) {
		files = append(files, pfs.BatchFile{Path: name, Data: make([]byte, len(content[name]))})
	}
	return files
}

// wantRead fails unless the files hold the content and are described as Stat does.
func (e *env) wantRead(files []pfs.BatchFile, content map[pfs.Path][]byte) {
	e.Helper()
	for _, f := range files {
		if !bytes.Equal(f.Data, content[f.Path]) {
			e.Errorf("%s: other bytes than were written", f.Path)
		}
		if want := MustStat(e, e.fs, f.Path); f.Info.Version != want.Version || f.Info.Name != want.Name || !f.Info.ModTime.Equal(want.ModTime) {
			e.Errorf("%s: described as %+v, want %+v", f.Path, f.Info, want)
		}
	}
}
