package aferofs

import (
	"context"
	"io/fs"
	"strconv"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/spf13/afero"
)

// Stat describes name.
func (s *store) Stat(ctx context.Context, name pfs.Path) (pfs.Info, error) {
	const op = "aferofs.Stat"
	if err := s.begin(ctx, op, name); err != nil {
		return pfs.Info{}, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	info, err := s.find(op, name)
	if err != nil {
		return pfs.Info{}, err
	}
	return s.info(name, info), nil
}

// info says of name what fi does. It copies: in memory, fi changes with the file.
func (s *store) info(name pfs.Path, fi fs.FileInfo) pfs.Info {
	info := pfs.Info{
		Name:    name.Base(),
		Mode:    fi.Mode() & (fs.ModeType | fs.ModePerm),
		ModTime: fi.ModTime(),
	}
	switch {
	case info.IsRegular():
		info.Size = fi.Size()
		info.Version = s.version(name, fi)
	case info.IsLink():
		info.Target = s.target(s.real(name))
		info.Size = int64(len(info.Target))
	}
	return info
}

// target returns where a link leads; empty if afs cannot tell.
func (s *store) target(real string) string {
	r, ok := s.afs.(afero.LinkReader)
	if !ok {
		return ""
	}
	target, err := r.ReadlinkIfPossible(real)
	if err != nil {
		return ""
	}
	return target
}

// version is the tag of the content that fi describes.
func (s *store) version(name pfs.Path, fi fs.FileInfo) string {
	inode, stamp := stampOf(fi)
	v := strconv.FormatUint(inode, 36) + "." + strconv.FormatInt(stamp, 36) + "." + strconv.FormatInt(fi.Size(), 36)
	if n := s.generations.of(name, stamp); n > 0 {
		v += "." + strconv.FormatUint(n, 36)
	}
	return v
}
