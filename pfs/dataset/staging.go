package dataset

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/dataset/manifest"
	"github.com/paddlecloud/pfs/pfs/dataset/recordfile"
	"github.com/paddlecloud/pfs/pfs/digest"
	"github.com/paddlecloud/pfs/pfs/transfer"
)

// stagingDir is the dot-directory that holds the shards of one conversion until all exist. It
// contains
//
//	job                inputs and options of the conversion
//	at-work            the run that uses the directory; see stagingClaim
//	00000.1f0e93ab75   shard 0, made by the run 1f0e93ab75
//	00000.shard        description of shard 0; written after it
//	plan, unit-00000, failed   of a conversion by several processes; see parts.go
//
// and is removed at the end. One run uses it at a time. A suspended run may continue for a moment
// until it notices that another one has taken its place, so no run writes the files of another.
//
// Nothing in it is trusted: a shard is kept only if its bytes have the stated digest and this run
// has the same records for it.
type stagingDir struct {
	fs      pfs.FileSystem
	dir     pfs.Path
	job     []byte
	run     string // name of this run
	claim   stagingClaim
	exists  bool
	resumed bool // it resumes an earlier run
	made    bool // by this run
}

const (
	stagingSuffix = ".convert"
	jobName       = "job"
	shardSuffix   = ".shard"
	maxShardText  = 4 << 10
	runLength     = 10 // of the name of a run
)

// jobText is the content of the file job.
type jobText struct {
	Inputs  []string `json:"inputs"`
	Options []string `json:"options"`
}

// finishedShard is the content of the file that belongs to a finished shard.
type finishedShard struct {
	Shard    manifest.Shard `json:"shard"`    // without its name, which depends on the number of shards
	Part     string         `json:"part"`     // the name of the file
	Payloads string         `json:"payloads"` // XXH3-128 over the records, each preceded by its length
}

// openStaging looks for the work of an earlier run, and refuses to continue unless the options say
// what to do with it.
func openStaging(ctx context.Context, c *conversion) (*stagingDir, error) {
	job := jobText{Options: c.o.ofRecords()}
	for _, g := range c.in.groups {
		job.Inputs = append(job.Inputs, g.operand.name())
	}
	text, err := json.MarshalIndent(job, "", "  ")
	if err != nil {
		return nil, err
	}
	w := newStagingDir(c.o.Dir.FS, c.stagingPath(), text, cmp.Or(c.o.Lease, usualLease))
	if w.exists, err = pfs.Exists(ctx, w.fs, w.dir); err != nil || !w.exists || c.o.Restart {
		return w, err
	}
	if !c.o.Resume {
		return nil, w.taken("an earlier run was not completed or is still at work")
	}
	w.resumed, err = w.sameJob(ctx)
	return w, err
}

func (c *conversion) stagingPath() pfs.Path {
	return c.o.Dir.Path.Join("." + c.o.Name + stagingSuffix)
}

func newStagingDir(fsys pfs.FileSystem, dir pfs.Path, job []byte, lease time.Duration) *stagingDir {
	run := rand.Text()[:runLength]
	return &stagingDir{fs: fsys, dir: dir, job: job, run: run, claim: stagingClaim{fs: fsys, path: dir.Join(claimedName), run: run, lease: lease}}
}

// taken is the error of a run that finds another one's directory.
func (w *stagingDir) taken(why string) error {
	return failure(Unfinished, "dataset.Convert", w.dir, pfs.Exist, "%s", why)
}

// sameJob reports whether the earlier run stated its job, which must be this one.
func (w *stagingDir) sameJob(ctx context.Context) (bool, error) {
	const most = 16 << 20 // of a job, which may have many inputs
	text, err := recordfile.ReadSmall(ctx, w.fs, w.dir.Join(jobName), most)
	if isMissing(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if !bytes.Equal(text, w.job) {
		return false, failure(OtherJob, "dataset.Convert", w.dir, pfs.Conflict, "the earlier run had other inputs or options%s", otherJob(text, w.job))
	}
	return true, nil
}

// otherJob describes the first difference between two jobs.
func otherJob(before, now []byte) string {
	var a, b jobText
	if json.Unmarshal(before, &a) != nil || json.Unmarshal(now, &b) != nil {
		return ""
	}
	why := difference(a.Options, b.Options)
	if why == "" {
		why = difference(a.Inputs, b.Inputs)
	}
	if why == "" {
		return ""
	}
	return ": " + why
}

// begin makes the directory, or removes files from it that are not resumed. It claims the directory until
// leave or remove; if another run takes it before that, begin calls lost.
func (w *stagingDir) begin(ctx context.Context, told func(string), lost func()) error {
	if !w.resumed {
		if err := w.create(ctx); err != nil {
			return err
		}
	}
	err := w.claim.take(ctx, told)
	if isMissing(err) {
		err = w.claim.held(ctx) // which reports that it is gone
	}
	if err == nil {
		w.claim.keep(ctx, lost)
	}
	return err
}

// undo removes what a begin that failed with err has made, unless another run has the directory.
func (w *stagingDir) undo(ctx context.Context, err error) {
	if !w.made || errors.Is(err, pfs.Exist) {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanUpTime)
	defer cancel()
	if _, err := w.claim.read(ctx); isMissing(err) || w.claim.held(ctx) == nil {
		_ = w.remove(ctx) // if it fails, the next run finds the directory
	}
}

// create makes the directory and writes the job to it: of two runs that begin at once, only one
// can.
func (w *stagingDir) create(ctx context.Context) error {
	if w.exists {
		if err := pfs.RemoveTree(ctx, w.fs, w.dir); err != nil {
			return err
		}
	}
	if err := w.fs.Mkdir(ctx, w.dir, 0o755); err != nil {
		return err
	}
	w.made = true
	err := pfs.WriteBatch(ctx, w.fs, []pfs.BatchEntry{w.small(jobName, w.job, true)})[0]
	if errors.Is(err, pfs.Exist) {
		return w.taken("another run has begun")
	}
	return err
}

// write makes one small file.
func (w *stagingDir) write(ctx context.Context, name string, text []byte) error {
	return pfs.WriteBatch(ctx, w.fs, []pfs.BatchEntry{w.small(name, text, false)})[0]
}

func (w *stagingDir) small(name string, text []byte, first bool) pfs.BatchEntry {
	return pfs.BatchEntry{Path: w.dir.Join(name), Mode: 0o644, Data: text, Digest: digest.Bytes(text), NoReplace: first}
}

// shardNumber returns the prefix of the names of the files of shard i.
func shardNumber(i int) string { return fmt.Sprintf("%05d", i) }

// part returns the file in which this run makes shard i.
func (w *stagingDir) part(i int) transfer.End { return w.partOf(i, w.run) }

func (w *stagingDir) partOf(i int, run string) transfer.End {
	return transfer.End{FS: w.fs, Path: w.dir.Join(shardNumber(i) + "." + run)}
}

// note records that this run has finished shard i.
func (w *stagingDir) note(ctx context.Context, i int, s finishedShard) error {
	s.Part = w.part(i).Path.Base()
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	if err := w.claim.held(ctx); err != nil {
		return err
	}
	return w.write(ctx, shardNumber(i)+shardSuffix, text)
}

// finished returns what an earlier run recorded about shard i, if its file has that size and
// digest; nil if the shard must be made.
func (w *stagingDir) finished(ctx context.Context, i int) (*finishedShard, error) {
	if !w.resumed {
		return nil, nil
	}
	text, err := recordfile.ReadSmall(ctx, w.fs, w.dir.Join(shardNumber(i)+shardSuffix), maxShardText)
	if isMissing(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	s := &finishedShard{}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if d.Decode(s) != nil || s.Shard.Records < 0 || s.Shard.RecordBytes < 0 || !isPart(s.Part, i) {
		return nil, nil
	}
	sum, err := digest.Stored(ctx, w.fs, w.dir.Join(s.Part), digest.BLAKE3, nil)
	switch {
	case isMissing(err):
		return nil, nil
	case err != nil:
		return nil, err
	case sum != s.Shard.Digest:
		return nil, nil
	}
	return s, nil
}

// isPart reports whether name is a name of shard i in some run.
func isPart(name string, i int) bool {
	run, ok := strings.CutPrefix(name, shardNumber(i)+".")
	return ok && len(run) == runLength && !strings.Contains(run, "/")
}

// leave ends a run that failed. It keeps the finished shards and reports them; if there are none, it
// removes the directory.
func (w *stagingDir) leave(ctx context.Context, tell func(string), finished int) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanUpTime)
	defer cancel()
	if finished == 0 && !w.resumed {
		if err := w.remove(ctx); err != nil {
			tell(err.Error())
		}
		return
	}
	if err := w.claim.release(ctx); err != nil {
		tell(err.Error())
	}
	kept := "what was finished is"
	if finished > 0 {
		kept = count(int64(finished), "finished shard is", "finished shards are")
	}
	tell(fmt.Sprintf("%s: %s kept; to resume, run the same command with --resume", w.dir, kept))
}

// cleanUpTime bounds the removal of the remains of a failed conversion.
const cleanUpTime = 30 * time.Second

// remove removes the directory and its entries.
func (w *stagingDir) remove(ctx context.Context) error {
	w.claim.rest()
	err := pfs.RemoveTree(ctx, w.fs, w.dir)
	if errors.Is(err, pfs.NotExist) {
		return nil
	}
	return err
}

// stagingClaim is the file of a staging directory that names the run at work in it. That run keeps
// writing it with another number. If the number stays the same for as long as lease, the run was
// killed and another one may take its place, whatever the clocks of the two machines show. A run
// that was only suspended notices at its next check that it has lost the directory, and ends.
type stagingClaim struct {
	fs    pfs.FileSystem
	path  pfs.Path
	run   string
	lease time.Duration

	stop func() // nil: the claim is not kept
}

const (
	claimedName    = "at-work"
	maxClaimText   = 64
	looksALease    = 5                // how often a claim is written and checked during a lease
	usualLease     = 10 * time.Second // the default lease
	textOfOtherRun = "another run is at work there"
)

// take waits until the run that has the claim ends. If that run is at work, it returns an Exist
// error.
func (c *stagingClaim) take(ctx context.Context, told func(string)) error {
	for {
		err := pfs.WriteBatch(ctx, c.fs, []pfs.BatchEntry{c.text(0, true)})[0]
		if !errors.Is(err, pfs.Exist) {
			return err
		}
		if c.held(ctx) == nil {
			return nil // the earlier attempt wrote it, and its answer was lost
		}
		if err := c.outlive(ctx, told); err != nil {
			return err
		}
	}
}

// outlive returns once no run has the claim.
func (c *stagingClaim) outlive(ctx context.Context, told func(string)) error {
	before, err := c.read(ctx)
	if isMissing(err) {
		return nil
	}
	if err != nil {
		return err
	}
	told(fmt.Sprintf("%s: an earlier run was killed or is still at work: waiting %v to find out", c.path.Parent(), c.lease))
	for range looksALease {
		if err := pause(ctx, c.lease/looksALease); err != nil {
			return err
		}
		now, err := c.read(ctx)
		switch {
		case isMissing(err):
			return nil
		case err != nil:
			return err
		case !bytes.Equal(before, now):
			return failure(Busy, "dataset.Convert", c.path.Parent(), pfs.Exist, textOfOtherRun)
		}
	}
	if err := c.fs.Remove(ctx, c.path); err != nil && !isMissing(err) {
		return err
	}
	return nil
}

// pause waits for d or until ctx is done.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
	return pfs.CheckContext(ctx, "dataset.Convert", "")
}

// keep rewrites the claim until release, and calls lost if another run has taken it.
func (c *stagingClaim) keep(ctx context.Context, lost func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	c.stop = func() { cancel(); <-done }
	go func() {
		defer close(done)
		for n := 1; pause(ctx, c.lease/looksALease) == nil; n++ {
			if errors.Is(c.held(ctx), pfs.Conflict) {
				lost()
				return
			}
			// If this fails, the next round writes it, or another run takes it.
			pfs.WriteBatch(ctx, c.fs, []pfs.BatchEntry{c.text(n, false)})
		}
	}()
}

// held answers Conflict if this run does not have the claim.
func (c *stagingClaim) held(ctx context.Context) error {
	text, err := c.read(ctx)
	switch {
	case isMissing(err):
		return pfs.Errorf("dataset.Convert", c.path.Parent(), pfs.Conflict, "it is gone: another run has completed the set, or somebody has removed what this one made")
	case err != nil:
		return err
	case !bytes.HasPrefix(text, []byte(c.run+" ")):
		return pfs.Errorf("dataset.Convert", c.path.Parent(), pfs.Conflict, textOfOtherRun)
	}
	return nil
}

// rest ends keep; the file stays.
func (c *stagingClaim) rest() {
	if c.stop != nil {
		c.stop()
		c.stop = nil
	}
}

// release frees the directory for the next run.
func (c *stagingClaim) release(ctx context.Context) error {
	c.rest()
	if c.held(ctx) != nil {
		return nil
	}
	return c.fs.Remove(ctx, c.path)
}

func (c *stagingClaim) read(ctx context.Context) ([]byte, error) {
	return recordfile.ReadSmall(ctx, c.fs, c.path, maxClaimText)
}

// text returns the claim with number n.
func (c *stagingClaim) text(n int, first bool) pfs.BatchEntry {
	text := strconv.AppendInt([]byte(c.run+" "), int64(n), 10)
	return pfs.BatchEntry{Path: c.path, Mode: 0o644, Data: text, Digest: digest.Bytes(text), NoReplace: first}
}
