package files

import (
	"context"
	"sync"

	"github.com/paddlecloud/pfs/cmd/paddlectl/internal/app"
	"github.com/paddlecloud/pfs/pfs"
)

// dfAtOnce is how many stores are asked at the same time: one that is silent keeps each
// question for as long as it is waited for.
const dfAtOnce = 16

// dfAnswer is what the store that holds a target says.
type dfAnswer struct {
	target   app.Target
	space    pfs.Space
	usage    pfs.Usage // if limits are to be shown
	usageErr error
	err      error
}

// below returns what is to be asked below t, which is above the stores. What cannot be
// listed below it has its error.
func (f *df) below(ctx context.Context, t app.Target) (all []dfAnswer, err error) {
	for e, err := range pfs.Entries(ctx, t.FS, t.Path, nil) {
		if err != nil {
			return nil, err
		}
		sub := app.Target{FS: t.FS, Path: t.Path.Join(e.Name)}
		switch {
		case sub.Path == app.CurrentPublic: // that of a datacenter, which has its own row
		case app.AboveStores(sub.Path):
			more, err := f.below(ctx, sub)
			if err != nil {
				more = []dfAnswer{{target: sub, err: err}}
			}
			all = append(all, more...)
		default:
			all = append(all, dfAnswer{target: sub})
		}
	}
	return all, nil
}

// askAll asks for all that has no answer.
func (f *df) askAll(ctx context.Context, all []dfAnswer) []dfAnswer {
	var wg sync.WaitGroup
	slots := make(chan struct{}, dfAtOnce)
	for i := range all {
		if all[i].err != nil {
			continue
		}
		slots <- struct{}{}
		wg.Go(func() {
			all[i] = f.ask(ctx, all[i].target)
			<-slots
		})
	}
	wg.Wait()
	return all
}

// ask asks the store that holds t.
func (f *df) ask(ctx context.Context, t app.Target) dfAnswer {
	a := dfAnswer{target: t}
	a.space, a.err = pfs.SpaceOf(ctx, t.FS, t.Path)
	if a.err == nil && f.o.quota {
		a.usage, a.usageErr = pfs.UsageOf(ctx, t.FS, t.Path)
	}
	return a
}
