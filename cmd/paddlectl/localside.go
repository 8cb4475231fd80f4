package main

import (
	"path/filepath"
	"sync"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/localfs"
	"github.com/paddlecloud/pfs/pfs/transfer"
)

// localSide has the disks of this machine as file systems: one on most systems, one
// a volume on Windows.
type localSide struct {
	mu      sync.Mutex
	volumes map[string]*localfs.FS
}

// end returns the file or directory that name means here.
func (l *localSide) end(name string) (transfer.End, error) {
	abs, err := filepath.Abs(name)
	if err != nil {
		return transfer.End{}, err
	}
	volume := filepath.VolumeName(abs)
	p, err := pfs.CleanPath(filepath.ToSlash(abs[len(volume):]))
	if err != nil {
		return transfer.End{}, err
	}
	fsys, err := l.volume(volume)
	return transfer.End{FS: fsys, Path: p}, err
}

func (l *localSide) volume(name string) (*localfs.FS, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if fsys := l.volumes[name]; fsys != nil {
		return fsys, nil
	}
	fsys, err := localfs.New(name+string(filepath.Separator), localfs.Options{FollowLinks: true})
	if err != nil {
		return nil, err
	}
	if l.volumes == nil {
		l.volumes = map[string]*localfs.FS{}
	}
	l.volumes[name] = fsys
	return fsys, nil
}
