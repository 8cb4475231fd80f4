package pfstest

import (
	"context"
	"testing"

	"github.com/paddlecloud/pfs/pfs"
)

// Run checks every promise of package pfs, each in a subtest with a new file system.
func Run(t *testing.T, opts Options) {
	themes := []struct {
		name     string
		promises []promise
	}{
		{"Path", pathPromises},
		{"Error", errorPromises},
		{"Read", readPromises},
		{"Stage", stagePromises},
		{"Resume", resumePromises},
		{"Commit", commitPromises},
		{"List", listPromises},
		{"Mkdir", mkdirPromises},
		{"Rename", renamePromises},
		{"Remove", removePromises},
		{"Link", linkPromises},
		{"Concurrent", concurrentPromises},
		{"Cancel", cancelPromises},
		{"Attribute", attributePromises},
		{"Handle", handlePromises},
		{"Node", nodePromises},
		{"Capabilities", capabilityPromises},
		{"Copy", copyPromises},
		{"Usage", usagePromises},
		{"Batch", batchPromises},
		{"Locate", locatePromises},
		{"Owner", ownerPromises},
		{"Gap", gapPromises},
	}
	for _, theme := range themes {
		t.Run(theme.name, func(t *testing.T) {
			for _, p := range theme.promises {
				if p.applies(opts) {
					t.Run(p.says, func(t *testing.T) {
						if opts.Parallel && !p.alone {
							t.Parallel()
						}
						p.check(newEnv(t, opts))
					})
				}
			}
		})
	}
}

// promise is one sentence of the contract and its check.
type promise struct {
	says  string
	check func(e *env)

	needs Gap  // not promised by a store with one of these gaps
	only  Gap  // only promised by a store with one of these gaps
	twice bool // needs a second instance of the store
	alone bool // measures the process, so nothing else may run
}

func (p promise) applies(o Options) bool {
	return !o.gaps().has(p.needs) && (p.only == 0 || o.gaps().has(p.only)) && (!p.twice || o.Reopen != nil)
}

// env is the environment of a check.
type env struct {
	*testing.T
	ctx  context.Context
	fs   pfs.FileSystem
	opts Options
}

func newEnv(t *testing.T, opts Options) *env {
	return &env{T: t, ctx: t.Context(), fs: opts.New(t), opts: opts}
}

// lacks reports whether the store has declared one of the gaps.
func (e *env) lacks(g Gap) bool { return e.opts.gaps().has(g) }
