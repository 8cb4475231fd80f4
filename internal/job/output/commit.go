package output

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/paddlecloud/pfs/internal/sorter"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/digest"
	"github.com/paddlecloud/pfs/pfs/retry"
	"github.com/paddlecloud/pfs/pfs/transfer"
)

// inventory is the paths of the files at the store that are those that were sent.
type inventory struct {
	*sorter.Sorter[string]
	files, bytes int64

	number uint32
	looks  bool          // nothing is removed at the store
	extra  bool          // something at the store is not here any more, and was not removed
	slots  chan struct{} // of the goroutines that list directories
}

// listers is how many directories are listed at a time.
const listers = 8

// takeInventory compares the files at the store with those that were sent. It removes those that are not here
// any more, and notes those that must be sent again: it returns their number.
func (u *uploader) takeInventory(ctx context.Context) (inv *inventory, wrong int, err error) {
	if inv, err = u.look(ctx, false); err != nil {
		return nil, 0, err
	}
	u.gone = false
	return inv, u.unmatched(inv), nil
}

// look compares the files at the store with those that were sent. If it only looks, it may do that beside a pass.
func (u *uploader) look(ctx context.Context, only bool) (*inventory, error) {
	u.inventories++
	inv := &inventory{number: u.inventories, looks: only, slots: make(chan struct{}, listers), Sorter: sorter.New(strings.Compare)}
	if _, err := u.takeDir(ctx, u.opts.Dir, inv); err != nil {
		inv.Close()
		return nil, err
	}
	return inv, nil
}

// unmatched notes files that the inventory lacks: they must be sent again. It returns their number.
func (u *uploader) unmatched(inv *inventory) (n int) {
	for k, s := range u.states {
		if s.current && s.matched != inv.number {
			s.current = false
			u.states[k] = s
			n++
		}
	}
	return n
}

// takeDir takes the inventory of a directory. It returns the number of its entries that stay.
func (u *uploader) takeDir(ctx context.Context, dir pfs.Path, inv *inventory) (stay int, err error) {
	var dirs, extra []pfs.Path
	for token := ""; ; {
		var page pfs.Page
		err := retry.From(ctx).Do(ctx, retry.Op{}, func(ctx context.Context) (err error) {
			page, err = u.opts.FS.List(ctx, dir, pfs.ListOptions{Token: token, Digests: true})
			return err
		})
		if err != nil {
			return 0, err
		}
		u.mu.Lock()
		for _, info := range page.Entries {
			name := dir.Join(info.Name)
			if dir == u.opts.Dir && reserved(info.Name) {
				stay++
				continue
			}
			if info.IsDir() {
				dirs = append(dirs, name)
				continue
			}
			var known bool
			if known, err = u.take(ctx, name, info, inv); err != nil {
				break
			}
			if known {
				stay++
			} else {
				extra = append(extra, name)
			}
		}
		u.mu.Unlock()
		if err != nil {
			return 0, err
		}
		if page.Next == "" {
			break
		}
		token = page.Next
	}
	left, errs := make([]int, len(dirs)), make([]error, len(dirs))
	var work sync.WaitGroup
	for i, sub := range dirs {
		select {
		case inv.slots <- struct{}{}:
			work.Go(func() {
				defer func() { <-inv.slots }()
				left[i], errs[i] = u.takeDir(ctx, sub, inv)
			})
		default:
			left[i], errs[i] = u.takeDir(ctx, sub, inv)
		}
	}
	work.Wait()
	if err := cmp.Or(errs...); err != nil {
		return 0, err
	}
	for i, sub := range dirs {
		if left[i] == 0 {
			extra = append(extra, sub)
		} else {
			stay++
		}
	}
	if inv.looks && len(extra) > 0 {
		u.mu.Lock()
		inv.extra = true
		u.mu.Unlock()
		return stay, nil
	}
	for _, name := range extra {
		err := retry.From(ctx).Do(ctx, retry.Op{}, func(ctx context.Context) error { return u.opts.FS.Remove(ctx, name) })
		if err != nil && !errors.Is(err, pfs.NotExist) && !errors.Is(err, pfs.NotEmpty) {
			return 0, err
		}
	}
	return stay, nil
}

// take compares one file at the store, and adds it to the inventory if it is right. It reports whether
// there is a local file of that name.
func (u *uploader) take(ctx context.Context, name pfs.Path, info pfs.Info, inv *inventory) (known bool, err error) {
	rel := strings.TrimPrefix(string(name), string(u.opts.Dir)+"/")
	k := key(rel)
	s, known := u.states[k]
	if !known || !s.current {
		return known, nil
	}
	sum := info.Digest
	if sum == "" && s.sum == (pfs.LeafDigest{}) {
		// The store keeps no digests, and the file was found there by an uploader that was started again.
		if sum, err = digest.Stored(ctx, u.opts.FS, name, digest.XXH3, nil); err != nil {
			return true, err
		}
	}
	got := parseSum(sum)
	if s.sum == (pfs.LeafDigest{}) {
		s.sum = got
	}
	if !info.IsRegular() || info.Size != s.size || s.sum == (pfs.LeafDigest{}) || sum != "" && got != s.sum {
		return true, nil
	}
	s.matched = inv.number
	u.states[k] = s
	inv.files++
	inv.bytes += s.size
	return true, inv.Add(rel)
}

// parseSum returns the hash in an XXH3 digest; 0 if it is none.
func parseSum(d string) (sum pfs.LeafDigest) {
	text, ok := strings.CutPrefix(d, digest.XXH3+":")
	if !ok || hex.DecodedLen(len(text)) != len(sum) {
		return sum
	}
	if _, err := hex.Decode(sum[:], []byte(text)); err != nil {
		return pfs.LeafDigest{}
	}
	return sum
}

// remains names what could not be uploaded because of failed, and returns the inventory of the rest.
func (u *uploader) remains(ctx context.Context, failed error) (*inventory, error) {
	for u.failure = failed; ; {
		if err := u.onePass(ctx, nothing); err != nil {
			return nil, err
		}
		inv, wrong, err := u.takeInventory(ctx)
		if err != nil || wrong == 0 {
			return inv, err
		}
		inv.Close()
		if err := retry.Sleep(ctx, lookEvery); err != nil {
			return nil, err
		}
	}
}

// commit writes the manifest and then the marker. If the run was abandoned meanwhile, it stays so.
func (u *uploader) commit(ctx context.Context, inv *inventory) (*Marker, error) {
	if m, err := ReadMarker(ctx, u.opts.FS, u.opts.Dir); m != nil && m.Uploader == "" || err != nil {
		return m, err
	}
	m := u.marker(inv)
	if err := u.writeManifest(ctx, inv, m); err != nil {
		return nil, err
	}
	m.Written = time.Now().UTC()
	if u.exit != nil && !u.exit.Ended.IsZero() {
		m.AfterExit = m.Written.Sub(u.exit.Ended).Seconds()
	}
	if err := writeMarker(ctx, u.opts.FS, u.opts.Dir, m); err != nil {
		return nil, err
	}
	u.unclaim(ctx)
	return m, nil
}

// writeMarker writes the marker of the run in dir.
func writeMarker(ctx context.Context, fsys pfs.FileSystem, dir pfs.Path, m *Marker) error {
	err := writeRecord(ctx, fsys, dir.Join(m.Name), m, true)
	switch {
	case errors.Is(err, pfs.Unsupported):
		return writeRecord(ctx, fsys, dir.Join(m.Name), m, false)
	case errors.Is(err, pfs.Exist):
		return nil // the answer to an earlier attempt was lost: no other uploader has the claim
	}
	return err
}

// marker decides which marker the outputs get.
func (u *uploader) marker(inv *inventory) *Marker {
	m := &Marker{
		Version: formatVersion, Run: u.opts.Run, Exit: u.exit, Files: inv.files, Bytes: inv.bytes, LeftOut: u.leftCount,
		Uploader: u.id, Name: Failed,
	}
	if u.exit != nil && u.exit.Code == 0 && !u.exit.Stopped {
		m.Name = Success
	}
	if busy := u.progress.Busy.Seconds(); busy > 0 {
		m.Rate = int64(float64(u.progress.Bytes) / busy)
	}
	if u.lost != "" {
		m.Name = Incomplete
		m.Reasons = append(m.Reasons, u.lost)
	}
	for _, l := range u.left {
		if l.Lost && len(m.Reasons) < maxReasons {
			m.Reasons = append(m.Reasons, l.Path+": "+l.Reason)
		}
	}
	if u.lostCount > 0 {
		m.Name = Incomplete
	}
	return m
}

// writeManifest writes the manifest, and its digest into m.
func (u *uploader) writeManifest(ctx context.Context, inv *inventory, m *Marker) error {
	j, err := transfer.New(transfer.Options{Origin: u.id, Pool: u.opts.Pool})
	if err != nil {
		return err
	}
	w, err := j.NewWriter(ctx, transfer.End{FS: u.opts.FS, Path: u.opts.Dir.Join(Manifest)}, transfer.WriterOptions{Algorithm: digest.XXH3})
	if err != nil {
		return err
	}
	defer w.Close(ctx)
	to, err := newManifestWriter(w, u.opts.Run)
	if err != nil {
		return err
	}
	err = inv.Each(func(path string) error {
		s := u.states[key(path)]
		return to.file(File{Path: path, Size: s.size, Digest: digest.XXH3 + ":" + hex.EncodeToString(s.sum[:]), Mode: uint32(s.mode)})
	})
	if err != nil {
		return err
	}
	for _, l := range u.left {
		if err := to.left(l); err != nil {
			return err
		}
	}
	if n := u.leftCount - int64(len(u.left)); n > 0 {
		if err := to.left(LeftOut{Path: "...", Reason: "further entries that were left out and are not named here", Lost: u.lostCount > 0}); err != nil {
			return err
		}
	}
	if err := to.end(); err != nil {
		return err
	}
	if _, err := w.Commit(pfs.CommitOptions{}); err != nil {
		return err
	}
	m.Manifest, err = w.Digest()
	return err
}
