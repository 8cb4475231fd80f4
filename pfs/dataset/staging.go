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

// stagingDir is the dot-directory in which the shards of one conversion wait until all
// are there. It has
//
//	job                what is made: inputs and options
//	at-work            which run is at work; see stagingClaim
//	00000.1f0e93ab75   shard 0, finished by the run that calls itself 1f0e93ab75
//	00000.shard        what it holds, and in which file; written after it
//
// and is removed at the end. One run is at work in it at a time, but for the moment in
// which one that was silent for long learns that it no longer is; so none writes the parts
// of another.
//
// Nothing in it is believed: a shard is kept only if its bytes have the digest that is
// stated, and if the records of this run are the ones it was made of.
type stagingDir struct {
	fs      pfs.FileSystem
	dir     pfs.Path
	job     []byte
	run     string // what this run calls itself
	claim   stagingClaim
	exists  bool
	resumed bool // it goes on with an earlier run
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
	Payloads string         `json:"payloads"` // XXH3-128 over the records, each behind its length
}

// openStaging looks for what an earlier run has left, and refuses to go on without
// being told what to do with it.
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
		return nil, w.taken("a run before was not completed, or still runs")
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

// taken is the error of a run that finds the directory to be another's.
func (w *stagingDir) taken(why string) error {
	return failure(Unfinished, "dataset.Convert", w.dir, pfs.Exist, "%s", why)
}

// sameJob reports whether the run before got as far as stating its job, which must be
// this one.
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
		return false, failure(OtherJob, "dataset.Convert", w.dir, pfs.Conflict, "the run before had other inputs or options%s", otherJob(text, w.job))
	}
	return true, nil
}

// otherJob tells the first difference between two jobs.
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

// begin makes the directory, or empties what is not gone on with, and claims it until
// leave, remove, or a call of lost: then it is another's.
func (w *stagingDir) begin(ctx context.Context, told func(string), lost func()) error {
	if !w.resumed {
		if err := w.create(ctx); err != nil {
			return err
		}
	}
	err := w.claim.take(ctx, told)
	if isMissing(err) {
		err = w.claim.held(ctx) // which says that it is gone
	}
	if err == nil {
		w.claim.keep(ctx, lost)
	}
	return err
}

// create makes the directory and states the job in it: of two runs that begin at once
// one can.
func (w *stagingDir) create(ctx context.Context) error {
	if w.exists {
		if err := pfs.RemoveTree(ctx, w.fs, w.dir); err != nil {
			return err
		}
	}
	if err := w.fs.Mkdir(ctx, w.dir, 0o755); err != nil {
		return err
	}
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

// shardNumber is how the names of the files of shard i begin.
func shardNumber(i int) string { return fmt.Sprintf("%05d", i) }

// part is where this run makes shard i.
func (w *stagingDir) part(i int) transfer.End { return w.partOf(i, w.run) }

func (w *stagingDir) partOf(i int, run string) transfer.End {
	return transfer.End{FS: w.fs, Path: w.dir.Join(shardNumber(i) + "." + run)}
}

// note states that this run has finished shard i.
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

// finished returns what a run before stated of shard i, if that is what is there; nil if
// the shard has to be made.
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

// isPart reports whether name is one that a run gives to shard i.
func isPart(name string, i int) bool {
	run, ok := strings.CutPrefix(name, shardNumber(i)+".")
	return ok && len(run) == runLength && !strings.Contains(run, "/")
}

// leave ends a run that failed: what it finished stays, and the caller is told; without
// that nothing stays.
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
	tell(fmt.Sprintf("%s: %s kept; the same command with --resume goes on", w.dir, kept))
}

// cleanUpTime bounds the removal of what is left of a conversion that failed.
const cleanUpTime = 30 * time.Second

// remove removes the directory and what is in it.
func (w *stagingDir) remove(ctx context.Context) error {
	w.claim.rest()
	err := pfs.RemoveTree(ctx, w.fs, w.dir)
	if errors.Is(err, pfs.NotExist) {
		return nil
	}
	return err
}

// stagingClaim is the file of a staging directory that says which run is at work in it.
// That run writes it anew, with another number, all the time; so whoever sees the same in
// it for as long as lease has a run before it that was killed, and takes its place,
// whatever the clocks of two machines say. A run that was only silent for so long, as one
// that was suspended, finds at its next look that it has lost the directory, and ends.
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
	looksALease    = 5                // how often a claim is written, and looked at, in that time
	usualLease     = 10 * time.Second // of a run that shows no sign of life
	textOfOtherRun = "another run is at work there"
)

// take waits for the run that has the claim to end, or to show that it is at work,
// which is an Exist error.
func (c *stagingClaim) take(ctx context.Context, told func(string)) error {
	for {
		err := pfs.WriteBatch(ctx, c.fs, []pfs.BatchEntry{c.text(0, true)})[0]
		if !errors.Is(err, pfs.Exist) {
			return err
		}
		if c.held(ctx) == nil {
			return nil // it was written when its answer was lost
		}
		if err := c.outlive(ctx, told); err != nil {
			return err
		}
	}
}

// outlive returns once the claim is nobody's.
func (c *stagingClaim) outlive(ctx context.Context, told func(string)) error {
	before, err := c.read(ctx)
	if isMissing(err) {
		return nil
	}
	if err != nil {
		return err
	}
	told(fmt.Sprintf("%s: a run before was killed or is still at work: looking for %v which it is", c.path.Parent(), c.lease))
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

// pause waits, but not longer than ctx.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
	return pfs.CheckContext(ctx, "dataset.Convert", "")
}

// keep writes the claim anew until release, and calls lost if it is another's.
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
			// One that cannot be written now is written the next time, or taken.
			pfs.WriteBatch(ctx, c.fs, []pfs.BatchEntry{c.text(n, false)})
		}
	}()
}

// held returns a Conflict if the claim is not this run's.
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

// release gives the directory to whoever comes next.
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

// text is the claim for the n-th time.
func (c *stagingClaim) text(n int, first bool) pfs.BatchEntry {
	text := strconv.AppendInt([]byte(c.run+" "), int64(n), 10)
	return pfs.BatchEntry{Path: c.path, Mode: 0o644, Data: text, Digest: digest.Bytes(text), NoReplace: first}
}
