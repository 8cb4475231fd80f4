package output

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/paddlecloud/pfs/internal/job"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/retry"
)

// attemptMarker is the content of the marker of an attempt: the digests of the manifests of its trainers.
type attemptMarker struct {
	Version   int               `json:"pfs_outputs"`
	Manifests map[string]string `json:"manifests"`
}

// CommitAttempt writes the marker of the attempt in dir (attempts/N), if the last run of each of the
// workers has Success. Otherwise it answers NotExist and names a worker. It may be called again.
func CommitAttempt(ctx context.Context, fsys pfs.FileSystem, dir pfs.Path, workers []string) error {
	ctx = budgeted(ctx, retry.Default)
	marker := attemptMarker{formatVersion, map[string]string{}}
	for _, worker := range workers {
		runs, err := runsOf(ctx, fsys, dir.Join(worker))
		if err != nil {
			return err
		}
		last := runs[len(runs)-1]
		m, err := ReadMarker(ctx, fsys, last)
		switch {
		case err != nil:
			return err
		case m == nil:
			return pfs.Errorf("output.CommitAttempt", last, pfs.NotExist, "%s has no marker", worker)
		case m.Name != Success:
			why := ""
			if len(m.Reasons) > 0 {
				why = ": " + m.Reasons[0]
			}
			return pfs.Errorf("output.CommitAttempt", last, pfs.NotExist, "%s has %s instead of %s%s", worker, m.Name, Success, why)
		}
		marker.Manifests[worker] = m.Manifest
	}
	return writeRecord(ctx, fsys, dir.Join(Success), marker, false)
}

// Committed reports whether the attempt in dir has its marker.
func Committed(ctx context.Context, fsys pfs.FileSystem, dir pfs.Path) (bool, error) {
	return pfs.Exists(ctx, fsys, dir.Join(Success))
}

// Lost returns a report for each worker of the committed attempt in dir (attempts/N) whose outputs are not those with which it was
// committed.
func Lost(ctx context.Context, fsys pfs.FileSystem, dir pfs.Path) (list []*Report, err error) {
	if retry.From(ctx) == nil {
		ctx = budgeted(ctx, retry.Default)
	}
	var marker attemptMarker
	if err := readRecord(ctx, fsys, dir.Join(Success), &marker); errors.Is(err, pfs.NotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	for _, worker := range slices.Sorted(maps.Keys(marker.Manifests)) {
		runs, err := runsOf(ctx, fsys, dir.Join(worker))
		if err != nil {
			return nil, err
		}
		last := runs[len(runs)-1]
		m, err := ReadMarker(ctx, fsys, last)
		if err != nil {
			return nil, err
		}
		if m == nil || m.Name != Success || m.Manifest != marker.Manifests[worker] {
			r := &Report{Dir: last, Wrong: 1, Problems: []Problem{{Success, "it is not the one with which the attempt was committed"}}}
			r.Worker = worker
			list = append(list, r)
		}
	}
	return list, nil
}

// runsOf returns the directories of all runs of a worker in an attempt, in order.
func runsOf(ctx context.Context, fsys pfs.FileSystem, worker pfs.Path) ([]pfs.Path, error) {
	var restarts []int
	for info, err := range pfs.Entries(ctx, fsys, worker.Join(restartsIn), nil) {
		if errors.Is(err, pfs.NotExist) {
			break
		}
		if err != nil {
			return nil, err
		}
		if n, err := strconv.Atoi(info.Name); err == nil && info.IsDir() && n > 0 {
			restarts = append(restarts, n)
		}
	}
	slices.Sort(restarts)
	runs := []pfs.Path{worker}
	for _, n := range restarts {
		runs = append(runs, RestartDir(worker, n))
	}
	return runs, nil
}

// Runs returns the directories of all runs of all ranks of the attempt in dir (attempts/N), sorted by
// role, index and restart.
func Runs(ctx context.Context, fsys pfs.FileSystem, dir pfs.Path) ([]pfs.Path, error) {
	type rank struct {
		role  string
		index int
	}
	var ranks []rank
	for info, err := range pfs.Entries(ctx, fsys, dir, nil) {
		if err != nil {
			return nil, err
		}
		role, number, _ := strings.Cut(info.Name, "-")
		if n, err := strconv.Atoi(number); err == nil && info.IsDir() {
			ranks = append(ranks, rank{role, n})
		}
	}
	slices.SortFunc(ranks, func(a, b rank) int {
		if a.role != b.role {
			return -strings.Compare(a.role, b.role) // trainers first
		}
		return a.index - b.index
	})
	var all []pfs.Path
	for _, r := range ranks {
		runs, err := runsOf(ctx, fsys, dir.Join(job.WorkerName(r.role, r.index)))
		if err != nil {
			return nil, err
		}
		all = append(all, runs...)
	}
	return all, nil
}
