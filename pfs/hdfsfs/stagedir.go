package hdfsfs

import (
	"context"
	"fmt"
	"path"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/digest"
	"github.com/paddlecloud/pfs/pfs/hdfsfs/internal/hdfsproto"
)

// stageDir is the directory below the root that holds uploads. Each user has a
// subdirectory in it.
const stageDir = pfs.StageName

// stageMode is the mode of stageDir: users may add entries, and remove their own.
const stageMode = 0o1777

// Names in the directory of an upload.
const (
	joinedName    = "joined" // the first parts, joined in order
	partPrefix    = "part-"
	attemptPrefix = "new-" // a part that is being written, or was abandoned
)

// stageAttribute is the extended attribute of an upload's directory.
const stageAttribute = "user.pfs.stage"

// stageRoot is the directory of one user's uploads.
type stageRoot struct {
	fs   *FS
	in   string // the directory in HDFS that has stageDir
	mu   sync.Mutex
	made bool

	madeHome, madeTop bool // whether fs created them
}

// top is the directory of all users.
func (r *stageRoot) top() string { return path.Join(r.in, stageDir) }

// home is the directory of the user.
func (r *stageRoot) home() string { return path.Join(r.top(), r.fs.stageUser()) }

// dir returns the directory of the upload id of the file base in the directory with the
// inode parent. By the inode, an upload survives a rename of that directory, and a new
// directory of the old name does not get it.
func (r *stageRoot) dir(parent uint64, base, id string) string {
	return path.Join(r.home(), strconv.FormatUint(parent, 36)+"-"+digest.NameTag(base)+"-"+id)
}

// temporary returns a new path beside the uploads.
func (r *stageRoot) temporary(prefix string) string {
	return path.Join(r.home(), temporaryName(prefix, time.Now()))
}

// ensure creates the directories.
func (r *stageRoot) ensure(ctx context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	made, err := r.fs.service.mkdirAt(ctx, r.top(), stageMode)
	r.madeTop = r.madeTop || made
	if err != nil {
		return err
	}
	made, err = r.fs.mkdirAt(ctx, r.home(), 0o700)
	r.madeHome = r.madeHome || made
	r.made = err == nil
	return err
}

// RemoveStage removes the upload directories that f created, if they are empty.
func (f *FS) RemoveStage(ctx context.Context) {
	for _, r := range f.knownStages() {
		r.removeMade(ctx)
	}
}

func (r *stageRoot) removeMade(ctx context.Context) {
	f := r.fs
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.madeHome {
		_, _ = f.deleteAt(ctx, r.home(), false)
	}
	if r.madeTop {
		_, _ = f.service.deleteAt(ctx, r.top(), false)
	}
	r.made, r.madeHome, r.madeTop = false, false, false
}

// ready calls ensure the first time.
func (r *stageRoot) ready(ctx context.Context) error {
	r.mu.Lock()
	made := r.made
	r.mu.Unlock()
	if made {
		return nil
	}
	return r.ensure(ctx)
}

// mkdirAt creates a directory at a path in HDFS unless it exists, and reports whether it did.
func (f *FS) mkdirAt(ctx context.Context, at string, mode uint32) (made bool, err error) {
	err = f.makeDir(ctx, at, mode)
	if is(err, pfs.Exist) {
		return false, nil
	}
	return err == nil, err
}

// within calls do, which creates an entry in the user's directory. If the directory is
// missing, within creates it and calls do again.
func (r *stageRoot) within(ctx context.Context, do func() error) error {
	if err := r.ready(ctx); err != nil {
		return err
	}
	err := do()
	if is(err, pfs.NotExist) {
		if err := r.ensure(ctx); err != nil {
			return err
		}
		err = do()
	}
	return err
}

// stageMark is the value of stageAttribute: the layout of the parts and the target's name.
type stageMark struct {
	unit, block int64
	name        pfs.Path
}

func (m stageMark) encode() string { return fmt.Sprintf("1 %d %d %s", m.unit, m.block, m.name) }

// decodeStageMark parses the result of encode.
func decodeStageMark(s string) (m stageMark, ok bool) {
	fields := strings.SplitN(s, " ", 4) // the name may have spaces
	if len(fields) != 4 || fields[0] != "1" {
		return stageMark{}, false
	}
	var errs [2]error
	m.unit, errs[0] = strconv.ParseInt(fields[1], 10, 64)
	m.block, errs[1] = strconv.ParseInt(fields[2], 10, 64)
	m.name = pfs.Path(fields[3])
	ok = errs == [2]error{} && m.block > 0 && m.unit > 0 && m.unit%m.block == 0
	return m, ok
}

// stageMarkOf reads the attribute of an upload's directory. A directory without it was
// abandoned during its creation.
func (f *FS) stageMarkOf(ctx context.Context, at string) (m stageMark, ok bool, err error) {
	value, err := f.xattr(ctx, at, stageAttribute)
	if err != nil {
		return stageMark{}, false, err
	}
	m, ok = decodeStageMark(value)
	return m, ok, nil
}

// content describes the directory of an upload.
type content struct {
	joined int64           // length of the joined file
	has    bool            // whether there is a joined file
	parts  map[int64]int64 // lengths of parts, by number
	policy *hdfsproto.ErasureCodingPolicy
}

// contentOf lists the directory of an upload.
func (f *FS) contentOf(ctx context.Context, dir string) (content, error) {
	c := content{parts: map[int64]int64{}}
	entries, err := f.entries(ctx, dir)
	for _, e := range entries {
		if e.Name == joinedName {
			c.joined, c.has, c.policy = e.Size, true, e.policy
		}
		if number, ok := strings.CutPrefix(e.Name, partPrefix); ok {
			if n, err := strconv.ParseInt(number, 16, 64); err == nil {
				c.parts[n], c.policy = e.Size, e.policy
			}
		}
	}
	return c, err
}

func partPath(dir string, number int64) string {
	return path.Join(dir, fmt.Sprintf("%s%08x", partPrefix, number))
}
