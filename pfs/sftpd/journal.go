package sftpd

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"sort"
	"time"

	"github.com/paddlecloud/pfs/internal/gateway"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/digest"
)

// A journal is what another process needs to continue an upload. It is an upload of the same file that is never
// published, with an ID that follows from the user and the path. It holds the ID of the upload with the content, the version
// of the file that this will replace, and for each leaf its digest and the time. The check of a record includes the
// header, so records of an earlier upload are not valid.
const (
	journalMagic = "pfssftp1"
	headerLen    = 8 + 1 + 64 + 16 + 16 // magic, ID and its length, version, check
	recordLen    = 8 + 8 + 16 + 16      // size up to its end, time, digest, check
)

type (
	versionTag [16]byte
	header     [headerLen]byte
)

// tagOf returns a tag of the version of a file; that of no file is the tag of the empty version.
func tagOf(info pfs.Info) versionTag { return versionTag(digest.Leaf([]byte(info.Version))) }

// resumable reports whether uploads can be continued on a store. It needs staged bytes that can be read back before they
// are a whole unit, which stores without random writes do not have.
func resumable(can pfs.Capabilities) bool { return can.Has(pfs.CanReadStaged | pfs.CanWriteRandom) }

// capabilities returns what the store of name can do; nothing if that is unknown.
func capabilities(ctx context.Context, u *user, name pfs.Path) pfs.Capabilities {
	can, err := pfs.CapabilitiesOf(ctx, u.FS(), name.Parent())
	if err != nil {
		return 0
	}
	return can
}

// journalID returns the ID of the journal for name.
func journalID(u *user, name pfs.Path) string {
	sum := sha256.Sum256([]byte("sftp " + u.User().Name + "\x00" + string(name)))
	return hex.EncodeToString(sum[:16])
}

// journal is the open journal of an upload.
type journal struct {
	w     pfs.Staged
	head  header
	count int64 // whole leaves that it has
}

// newJournal begins the journal of up, in place of an older one.
func newJournal(ctx context.Context, up *upload) (*journal, error) {
	w, err := up.u.FS().Create(ctx, up.name, pfs.CreateOptions{ID: journalID(up.u, up.name)})
	if err != nil {
		return nil, err
	}
	j := &journal{w: w}
	b := append(j.head[:0], journalMagic...)
	b = append(b, byte(len(up.w.ID())))
	copy(j.head[len(b):], up.w.ID())
	copy(j.head[73:], up.tag[:])
	sum := digest.Leaf(j.head[:89])
	copy(j.head[89:], sum[:])
	if _, err := w.WriteAt(ctx, j.head[:], 0); err != nil {
		_ = w.Close(ctx)
		return nil, err
	}
	return j, nil
}

// add notes the leaves of the first size bytes that are not noted yet. The last may be a part of one.
func (j *journal) add(ctx context.Context, h *digest.Hash, size int64) error {
	for i := j.count; i < pfs.Leaves(size); i++ {
		end := min(size, (i+1)*pfs.ChunkSize)
		b := binary.BigEndian.AppendUint64(make([]byte, 0, recordLen), uint64(end))
		b = binary.BigEndian.AppendUint64(b, uint64(time.Now().UnixNano()))
		b = append(b, h.Leaf(i)...)
		b = append(b, j.check(b)...)
		if _, err := j.w.WriteAt(ctx, b, headerLen+i*recordLen); err != nil {
			return err
		}
		if end == (i+1)*pfs.ChunkSize {
			j.count = i + 1
		}
	}
	return nil
}

func (j *journal) check(b []byte) []byte {
	sum := digest.Leaf(append(bytes.Clone(j.head[:]), b...))
	return sum[:]
}

// record is the state of an interrupted upload.
type record struct {
	journal
	id   string
	tag  versionTag
	size int64
	time time.Time
}

func (r record) info(name pfs.Path, old pfs.Info) pfs.Info {
	info := old
	info.Name, info.Size, info.ModTime = name.Base(), r.size, r.time
	if info.Mode == 0 {
		info.Mode = 0o644
	}
	return info
}

// findRecord returns the record of an interrupted upload of name by u that would replace the file old. It is called
// within Do, and needs no memory for long journals.
func findRecord(ctx context.Context, u *user, name pfs.Path, old pfs.Info) (r record, found bool) {
	if !resumable(capabilities(ctx, u, name)) {
		return r, false
	}
	r, found = openRecord(ctx, u, name)
	if !found {
		return r, false
	}
	_ = r.w.Suspend(ctx)
	return r, r.size > 0 && r.tag == tagOf(old)
}

// openRecord opens the journal of name and reads the last record.
func openRecord(ctx context.Context, u *user, name pfs.Path) (r record, found bool) {
	w, err := u.FS().Create(ctx, name, pfs.CreateOptions{ID: journalID(u, name), Reopen: true})
	if err != nil {
		return r, false
	}
	r.w = w
	if !readAll(ctx, w, r.head[:], 0) || string(r.head[:8]) != journalMagic {
		_ = w.Suspend(ctx)
		return r, false
	}
	sum := digest.Leaf(r.head[:89])
	if !bytes.Equal(sum[:], r.head[89:]) || int(r.head[8]) > 64 {
		_ = w.Suspend(ctx)
		return r, false
	}
	r.id = string(r.head[9 : 9+r.head[8]])
	copy(r.tag[:], r.head[73:])
	n := sort.Search(1<<40, func(i int) bool {
		_, _, _, ok := r.at(ctx, int64(i))
		return !ok
	})
	if n > 0 {
		r.size, r.time, _, _ = r.at(ctx, int64(n-1))
	}
	return r, true
}

// at returns record number i.
func (r record) at(ctx context.Context, i int64) (size int64, when time.Time, sum []byte, ok bool) {
	b := make([]byte, recordLen)
	if !readAll(ctx, r.w, b, headerLen+i*recordLen) || !bytes.Equal(r.check(b[:32]), b[32:]) {
		return 0, time.Time{}, nil, false
	}
	size = int64(binary.BigEndian.Uint64(b))
	return size, time.Unix(0, int64(binary.BigEndian.Uint64(b[8:]))), b[16:32], size > i*pfs.ChunkSize && size <= (i+1)*pfs.ChunkSize
}

func readAll(ctx context.Context, w pfs.Staged, p []byte, off int64) bool {
	for len(p) > 0 {
		n, err := w.ReadAt(ctx, p, off)
		p, off = p[n:], off+int64(n)
		if n == 0 || len(p) > 0 && err != nil {
			return false
		}
	}
	return true
}

// discardRecord discards an interrupted upload of name, and reports whether there was one. It is called within Do.
func discardRecord(ctx context.Context, u *user, name pfs.Path) bool {
	r, found := openRecord(ctx, u, name)
	if !found {
		return false
	}
	if w, err := u.FS().Create(ctx, name, pfs.CreateOptions{ID: r.id, Reopen: true}); err == nil {
		_ = w.Close(ctx)
	}
	_ = r.w.Close(ctx)
	return true
}

// resume opens the interrupted upload of name that will replace the file old; nil if there is none. It compares all staged
// bytes with the digests that were noted when they came.
func (l *uploads) resume(ctx context.Context, u *user, name pfs.Path, old pfs.Info) (*upload, error) {
	if l.of(u, name) != nil {
		return nil, pfs.Errorf("sftpd.resume", name, pfs.Conflict, "the file is being uploaded by another session of yours: wait for its end")
	}
	up := &upload{u: u, in: l, name: name, tag: tagOf(old), mode: 0o644, time: time.Now(), ahead: map[int64][]byte{}}
	if old.Version != "" {
		up.mode = old.Mode.Perm()
	}
	var r record
	var found bool
	err := u.Do(ctx, "resume", func(ctx context.Context) error {
		up.can = capabilities(ctx, u, name)
		if !resumable(up.can) {
			return nil
		}
		if r, found = openRecord(ctx, u, name); !found {
			return nil
		}
		if found = r.size > 0 && r.tag == up.tag; !found {
			return r.w.Suspend(ctx)
		}
		w, err := u.FS().Create(ctx, name, pfs.CreateOptions{ID: r.id, Reopen: true})
		if errors.Is(err, pfs.Conflict) { // it was swept
			found = false
			return r.w.Close(ctx)
		}
		if err != nil {
			_ = r.w.Suspend(ctx)
		}
		up.w = w
		return err
	})
	if err != nil || !found {
		return nil, err
	}
	up.journal = &r.journal
	if err := up.verify(ctx, r); err != nil {
		if errors.Is(err, pfs.Integrity) {
			_ = u.Do(ctx, "discard", func(ctx context.Context) error {
				_ = up.w.Close(ctx)
				return r.w.Close(ctx)
			})
			return nil, err
		}
		_ = up.w.Suspend(ctx)
		_ = r.w.Suspend(ctx)
		return nil, err
	}
	return l.add(up), nil
}

// verify reads the staged bytes, and compares them with the record.
func (up *upload) verify(ctx context.Context, r record) error {
	up.hash, _ = digest.NewHash(digest.XXH3, digest.Unknown)
	buf := make([]byte, gateway.Step)
	for i := range pfs.Leaves(r.size) {
		end, _, want, ok := r.at(ctx, i)
		for off := i * pfs.ChunkSize; ok && off < end; {
			n, err := gateway.ReadAt(ctx, up.u, up.w, buf[:min(int64(len(buf)), end-off)], off)
			if n == 0 && (err == nil || pfs.KindOf(err) == pfs.Other) {
				ok = false
			} else if n == 0 {
				return err
			}
			_, _ = up.hash.Write(buf[:n])
			off += int64(n)
		}
		if !ok || !bytes.Equal(up.hash.Leaf(i), want) {
			return pfs.Errorf("sftpd.resume", up.name, pfs.Integrity,
				"the bytes from %d on that an interrupted upload has left are damaged, and were discarded: upload the file from its start", i*pfs.ChunkSize)
		}
		up.size = end
		if end == (i+1)*pfs.ChunkSize {
			up.journal.count = i + 1
		}
	}
	return nil
}
