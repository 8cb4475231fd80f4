package output

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/paddlecloud/pfs/internal/job"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/retry"
	"github.com/paddlecloud/pfs/pfs/transfer"
)

// Defaults of Options.
const (
	DefaultSettle = 3 * time.Second
	DefaultMemory = 24 << 20
)

const (
	// shortest is the least time from one pass to the next. A pass that finds nothing is followed by a pause of
	// pauseFactor times its own time, so that an idle uploader needs little of a processor, but not by more than
	// longest.
	shortest    = time.Second
	pauseFactor = 30
	longest     = 20 * time.Second

	// lookEvery is how often Upload looks for the exit record.
	lookEvery = 100 * time.Millisecond

	// patience is how long after the exit an error is retried that time alone does not cure.
	patience = time.Minute

	// enough is how many bytes tell the rate of the store.
	enough = 16 << 20

	// maxLeftOut bounds the entries in memory that were left out; the others are only counted.
	maxLeftOut = 10_000

	// maxReasons bounds the reasons in a marker.
	maxReasons = 10
)

// Options select the files to upload, and their target.
type Options struct {
	FS   pfs.FileSystem // the store, or a service
	Dir  pfs.Path       // for the outputs: RestartDir(job.OutputDir(...), restart)
	Logs pfs.Path       // for the logs: job.LogDir(...)

	Rank job.RankDir // has outputs, logs and the exit record
	More []string    // further local directories: job.Spec.Outputs
	Run  Run

	// Wait is the longest time from the exit record to the marker: job.Spec.UploadWait.
	Wait time.Duration

	// Settle is how long a file must stay unchanged before it is uploaded while the job runs.
	// 0 means DefaultSettle.
	Settle time.Duration

	// Lost, if not nil, is called now and then while there is no exit record. It returns why there
	// will never be one, or "".
	Lost func(ctx context.Context) string

	// Pool is memory for content, which uploaders may share. nil means one of DefaultMemory.
	Pool *transfer.Pool

	// Progress, if not nil, is called after each pass.
	Progress func(Progress)
}

// Progress is the work of an uploader so far.
type Progress struct {
	Files, Bytes int64         // sent
	Pending      int64         // bytes that are not at the store yet
	Busy         time.Duration // time spent sending
	Reason       string        // the error of the last pass, or ""
}

// Upload uploads the outputs and the logs of one run of a rank until the entry has ended and its
// outputs are committed. Then it writes the acknowledgement (job.Uploaded) to the rank directory, and
// returns it.
//
// Upload may be killed at any moment and called again. An error means that there is no acknowledgement:
// Conflict if another uploader has the outputs, otherwise the end of ctx.
func Upload(ctx context.Context, opts Options) (*job.Uploaded, error) {
	if done, err := opts.Rank.ReadUploaded(); done != nil || err != nil {
		return done, err
	}
	if opts.Settle == 0 {
		opts.Settle = DefaultSettle
	}
	if opts.Pool == nil {
		opts.Pool = transfer.NewPool(DefaultMemory)
	}
	id, err := uploaderID(opts.Rank) // now, since the disk may fill up
	if err != nil {
		return nil, err
	}
	alone, err := os.OpenFile(filepath.Join(opts.Rank.Run(), "uploader.lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	defer alone.Close()
	if ok, err := lock(alone); err != nil {
		return nil, err
	} else if !ok {
		return nil, pfs.Errorf("output.Upload", opts.Dir, pfs.Conflict, "another process of this machine uploads %s", opts.Rank)
	}
	u := &uploader{opts: opts, id: id, states: map[pfs.LeafDigest]state{}}
	return u.run(ctx)
}

// uploader is the work of Upload. Only shipLogs runs beside run.
type uploader struct {
	opts Options
	id   string

	ours    bool // the directory is claimed
	resumed bool // it has files of an earlier uploader, which no pass has found yet

	exit *job.Exit // nil until run has learned that the entry has ended; see lost
	lost string    // why there will be no exit record

	deadline time.Time // of the marker; set when the entry has ended

	mu          sync.Mutex               // for states, and the inventory that looks beside a pass
	states      map[pfs.LeafDigest]state // by the digest of the path below opts.Dir
	pass        uint32                   // number of the pass
	inventories uint32                   // their number

	scanned time.Duration // time of the last pass without sending
	gone    bool          // files at the store may have no local file any more

	reasons   map[pfs.LeafDigest]string // why files were not sent, some of them
	left      []LeftOut
	leftCount int64
	lostCount int64 // of these, with content

	pending  int64 // bytes of files that are not uploaded
	progress Progress
	failure  error // of the last pass, the first one

	ship       func()        // starts shipLogs: the logs are ours when the directory is
	logs       chan struct{} // closed when shipLogs has ended; nil if it was not started
	logFailure error         // why logs are missing; set before
}

// run uploads until the end.
func (u *uploader) run(ctx context.Context) (*job.Uploaded, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended, over := make(chan struct{}), exitOf{}
	passes, cut := context.WithCancel(ctx)
	var work sync.WaitGroup
	defer work.Wait()
	defer cancel()
	work.Go(func() {
		if over = u.awaitExit(ctx); over != (exitOf{}) {
			u.deadline = time.Now().Add(u.opts.Wait)
			close(ended)
			_ = retry.Sleep(ctx, u.opts.Wait-u.reserve()) // a pass at work may use the time for the rest, and no more
		}
		cut()
	})
	select { // nothing is stable before, and the other ranks that start need the processor
	case <-ended:
	case <-time.After(u.opts.Settle):
	case <-ctx.Done():
	}
	u.ship = func() {
		u.logs = make(chan struct{})
		work.Go(func() {
			defer close(u.logs)
			u.logFailure = u.shipLogs(ctx, passes, ended)
		})
	}
	for {
		began, files := time.Now(), u.progress.Files
		done, err := u.try(ctx, budgeted(passes, retry.Default))
		if done != nil || err != nil {
			return done, err
		}
		pause := min(pauseFactor*u.scanned, longest)
		if u.progress.Files > files {
			pause = 3 * u.scanned // more may have come meanwhile
		} else {
			u.opts.Pool.Trim() // with little memory left, most of the work of an idle uploader would be collections
		}
		pause = max(pause, shortest-time.Since(began))
		select {
		case <-ctx.Done():
			return nil, pfs.E("output.Upload", u.opts.Dir, pfs.Canceled, ctx.Err())
		case <-ended:
			u.exit, u.lost = over.exit, over.lost
			return u.finish(ctx)
		case <-time.After(pause):
		}
	}
}

// exitOf is the exit record, or why there will be none.
type exitOf struct {
	exit *job.Exit
	lost string
}

// awaitExit waits for the exit record. It returns nothing if ctx ends first.
func (u *uploader) awaitExit(ctx context.Context) exitOf {
	looked := time.Now()
	for ctx.Err() == nil {
		exit, err := u.opts.Rank.ReadExit()
		switch {
		case err != nil:
			return exitOf{lost: "the exit record is damaged: " + err.Error()}
		case exit != nil:
			return exitOf{exit: exit}
		case u.opts.Lost != nil && time.Since(looked) >= 2*time.Second:
			if lost := u.opts.Lost(ctx); lost != "" {
				return exitOf{lost: lost}
			}
			looked = time.Now()
		}
		_ = retry.Sleep(ctx, lookEvery)
	}
	return exitOf{}
}

// try is a pass while the job runs. Its failures are left to the next pass, except Conflict.
func (u *uploader) try(ctx, pass context.Context) (*job.Uploaded, error) {
	m, err := u.begin(pass)
	if errors.Is(err, ErrTaken) {
		return nil, err
	}
	if m != nil {
		return u.acknowledge(ctx, m)
	}
	if err == nil {
		err = u.sync(pass, stable)
	}
	u.tell(err)
	return nil, nil
}

// sync is a pass, and removes files from the store that are gone.
func (u *uploader) sync(ctx context.Context, h how) error {
	return u.clear(ctx, u.onePass(ctx, h))
}

// clear removes files from the store that are gone, after a pass that ended with err.
func (u *uploader) clear(ctx context.Context, err error) error {
	if err == nil {
		u.resumed = false
	}
	if u.gone {
		inv, _, inverr := u.takeInventory(ctx)
		if inverr == nil {
			inv.Close()
		} else if err == nil {
			err = inverr
		}
	}
	return err
}

// begin claims the directory, once. It returns the marker if the work was done already.
func (u *uploader) begin(ctx context.Context) (*Marker, error) {
	if u.ours {
		return nil, nil
	}
	m, err := u.claim(ctx)
	if u.ours = err == nil; u.ours {
		u.ship()
	}
	return m, err
}

// tell reports the progress after a pass that ended with err.
func (u *uploader) tell(err error) {
	u.failure = err
	u.progress.Pending = u.pending
	u.progress.Reason = ""
	if err != nil {
		u.progress.Reason = err.Error()
	}
	if u.opts.Progress != nil {
		u.opts.Progress(u.progress)
	}
}

// reserve is the part of the time after the exit that is for the manifest and the marker.
func (u *uploader) reserve() time.Duration { return min(u.opts.Wait/10, 30*time.Second) }

// finish uploads the rest after the end of the entry, and commits.
func (u *uploader) finish(ctx context.Context) (*job.Uploaded, error) {
	ending, cancel := context.WithDeadline(ctx, u.deadline)
	defer cancel()
	reserve := u.reserve()
	copying, stop := context.WithDeadline(budgeted(ending, retry.Policy{Total: max(u.opts.Wait, time.Second)}), u.deadline.Add(-reserve))
	defer stop()
	inv, m, err := u.rest(copying)
	if errors.Is(err, ErrTaken) {
		return nil, err
	}
	ending = budgeted(ending, retry.Policy{Total: max(reserve, time.Second)})
	if err != nil && u.ours {
		inv, err = u.remains(ending, err)
	}
	if err == nil && m == nil {
		defer inv.Close()
		m, err = u.commit(ending, inv)
	}
	if err != nil {
		err = fmt.Errorf("there is no marker, so the outputs count as incomplete: %w", err)
		u.tell(err)
		return u.acknowledge(ctx, &Marker{Reasons: []string{err.Error()}})
	}
	return u.acknowledge(ctx, m)
}

// rest repeats passes until everything is at the store, the time is over, or nothing helps. It returns the
// inventory, or the marker if the work was done already.
func (u *uploader) rest(ctx context.Context) (*inventory, *Marker, error) {
	hopeless := time.Now().Add(patience)
	for pause := 100 * time.Millisecond; ; pause = min(2*pause, 5*time.Second) {
		m, err := u.begin(ctx)
		if m != nil || errors.Is(err, ErrTaken) {
			return nil, m, err
		}
		if err == nil {
			var inv *inventory
			if inv, err = u.last(ctx); inv != nil {
				u.tell(nil)
				return inv, nil, nil
			}
		}
		if u.tell(err); err == nil {
			continue
		}
		late := time.Now().After(hopeless) && !pfs.KindOf(err).Temporary()
		if late || retry.Sleep(ctx, pause) != nil {
			return nil, nil, err
		}
	}
}

// last is a pass that should find nothing to send. Then it returns the inventory, if that is right.
func (u *uploader) last(ctx context.Context) (*inventory, error) {
	before := u.progress.Files
	var inv *inventory
	var beside sync.WaitGroup
	if u.pass > 0 && u.failure == nil && !u.resumed {
		beside.Go(func() { inv, _ = u.look(ctx, true) })
	}
	err := u.onePass(ctx, everything)
	beside.Wait()
	if inv != nil && (err != nil || inv.extra || u.gone || u.progress.Files > before) {
		inv.Close()
		inv = nil
	}
	if err = u.clear(ctx, err); err != nil || u.progress.Files > before {
		return nil, err
	}
	u.opts.Pool.Trim()
	wrong := 0
	if inv == nil {
		inv, wrong, err = u.takeInventory(ctx)
	} else {
		wrong = u.unmatched(inv)
	}
	if wrong > 0 {
		inv.Close()
		return nil, nil
	}
	return inv, err
}

// acknowledge waits for the logs and tells the launcher that the work is done.
func (u *uploader) acknowledge(ctx context.Context, m *Marker) (*job.Uploaded, error) {
	if u.logs != nil {
		select {
		case <-u.logs:
		case <-ctx.Done():
			return nil, pfs.E("output.Upload", u.opts.Dir, pfs.Canceled, ctx.Err())
		}
	}
	done := &job.Uploaded{Marker: m.Name, Files: m.Files, Bytes: m.Bytes}
	if u.progress.Bytes >= enough {
		done.Rate = m.Rate
	}
	if len(m.Reasons) > 0 {
		done.Reason = m.Reasons[0]
	} else if u.logFailure != nil {
		done.Reason = "logs are missing: " + u.logFailure.Error()
	}
	done.Reason = fmt.Sprintf("%.500s", done.Reason) // JSON takes up to 6 bytes for each, and the record fits into 4096
	return done, u.opts.Rank.WriteUploaded(done)
}
