package app

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/localfs"
	"github.com/paddlecloud/pfs/pfs/transfer"
)

// LocalSide is the local file systems: one, or one for each volume on Windows.
type LocalSide struct {
	mu      sync.Mutex
	volumes map[string]*localfs.FS
	typed   map[pfs.Path]string // relative operands, by absolute path
}

// End returns the local file or directory with the given name.
func (l *LocalSide) End(name string) (transfer.End, error) {
	abs, err := filepath.Abs(name)
	if err != nil {
		return transfer.End{}, err
	}
	volume := filepath.VolumeName(abs)
	p, err := pfs.CleanPath(filepath.ToSlash(abs[len(volume):]))
	if err != nil {
		return transfer.End{}, err
	}
	if !filepath.IsAbs(name) {
		l.noteTyped(p, name)
	}
	fsys, err := l.volume(volume)
	return transfer.End{FS: fsys, Path: p}, err
}

// noteTyped remembers that the user typed name for p, for messages.
func (l *LocalSide) noteTyped(p pfs.Path, name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.typed == nil {
		l.typed = map[pfs.Path]string{}
	}
	l.typed[p] = name
	// A message about a temporary names the directory of the file.
	if _, known := l.typed[p.Parent()]; !known && !endsInSlash(name) {
		l.typed[p.Parent()] = filepath.Dir(name)
	}
}

// asTyped returns p as the user would type it, if p is a relative operand or below one.
func (l *LocalSide) asTyped(p pfs.Path) (string, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for above := p; above != "/" && above != ""; above = above.Parent() {
		name, ok := l.typed[above]
		if ok && above == p {
			return name, true
		}
		if ok {
			return InDir(name, strings.TrimPrefix(string(p[len(above):]), "/")), true
		}
	}
	return "", false
}

func (l *LocalSide) volume(name string) (*localfs.FS, error) {
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

// LocalText formats a path in the syntax of this machine, unless it is on a service.
func LocalText(p pfs.Path) string {
	if runtime.GOOS == "windows" && p != "" && !p.Within("/pfs") {
		return strings.ReplaceAll(string(p), "/", `\`)
	}
	return string(p)
}

// InDir returns the path of a file in a directory for messages and results, where text is the
// directory as the user typed it.
func InDir(text, name string) string {
	if n := len(text); n > 0 && os.IsPathSeparator(text[n-1]) {
		text = text[:n-1]
	}
	return text + "/" + name
}
