package memfs

import (
	"context"
	"runtime"
	"slices"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/digest"
)

// CopyFile makes dst a file with the content of src. Published content never changes, so the two
// share it until one of them is edited.
func (s *FS) CopyFile(ctx context.Context, src, dst pfs.Path, opts pfs.CopyOptions, progress func(done int64)) (pfs.Info, error) {
	const op = "memfs.CopyFile"
	if err := begin(ctx, op, src); err != nil {
		return pfs.Info{}, err
	}
	if err := begin(ctx, op, dst); err != nil {
		return pfs.Info{}, err
	}
	if err := (pfs.CreateOptions{ID: opts.ID}).Check(op, dst); err != nil {
		return pfs.Info{}, err
	}
	if err := s.need(op, dst, pfs.CanCopyInside); err != nil {
		return pfs.Info{}, err
	}
	info, err := s.copyFile(op, src, dst, opts)
	if err == nil && progress != nil {
		progress(info.Size)
	}
	return info, err
}

func (s *FS) copyFile(op string, src, dst pfs.Path, opts pfs.CopyOptions) (pfs.Info, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, err := s.findFile(op, src)
	if err == nil {
		err = s.may(op, src, n, read)
	}
	if err != nil {
		return pfs.Info{}, err
	}
	if err := s.checkSpace(op, dst, n.data.size); err != nil {
		return pfs.Info{}, err
	}
	return s.publish(op, dst, n.data, opts.ID, opts.Commit(n.info(src.Base()), n.digest))
}

// Digest computes the digest of the current content of the file name.
func (s *FS) Digest(ctx context.Context, name pfs.Path, algorithm string, progress func(done int64)) (string, error) {
	const op = "memfs.Digest"
	if !digest.Known(algorithm) || s.can&pfs.CanDigest == 0 {
		return "", pfs.Errorf(op, name, pfs.Unsupported, "unknown digest algorithm %q", algorithm)
	}
	f, err := s.Open(ctx, name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	return digest.OfFile(ctx, f, algorithm, runtime.GOMAXPROCS(0), progress)
}

// Concat appends the files sources to target and removes them.
func (s *FS) Concat(ctx context.Context, target pfs.Path, sources []pfs.Path) error {
	const op = "memfs.Concat"
	for _, name := range append(slices.Clone(sources), target) {
		if err := begin(ctx, op, name); err != nil {
			return err
		}
	}
	if err := s.need(op, target, pfs.CanConcat); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	n, err := s.findFile(op, target)
	if err == nil {
		err = s.may(op, target, n, change)
	}
	if err != nil {
		return err
	}
	if len(sources) == 0 {
		return pfs.Errorf(op, target, pfs.Invalid, "no files to append")
	}
	data := n.data.edited(0, 0)
	dirs := make([]*node, len(sources))
	for i, name := range sources {
		if slices.Contains(sources[:i], name) || name == target {
			return pfs.Errorf(op, name, pfs.Invalid, "the file is named twice")
		}
		src, err := s.findFile(op, name)
		if err == nil {
			err = s.may(op, name, src, read)
		}
		if err != nil {
			return err
		}
		if dirs[i], err = s.parent(op, name); err == nil {
			err = s.may(op, name.Parent(), dirs[i], change)
		}
		if err != nil {
			return err
		}
		data = data.joined(src.data)
	}
	if err := s.setContent(op, target, n, data); err != nil {
		return err
	}
	for i, name := range sources {
		s.unlink(name.Base(), dirs[i])
	}
	return nil
}
