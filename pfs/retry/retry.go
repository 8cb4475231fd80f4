// Package retry bounds how often, and for how long, an operation is retried after temporary errors.
//
// The owner of some work puts one Budget into its context with With, and every layer below spends
// from it with Do. Layers nest: a copy repeats the transfer of a chunk, which a client sends as a
// request. Only the outermost Do waits and repeats, because the context that it passes on has no
// budget left. So attempts do not multiply.
//
// A failure that waiting does not cure is repeated only by the layer that can repair it: the client
// repeats a request whose bytes were damaged in transit (Op.Repairs), and pfs/transfer sends bytes
// again that a store has lost (Repair).
package retry

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/paddlecloud/pfs/pfs"
)

// Policy bounds the repetition of an operation. The zero value is the same as Default.
type Policy struct {
	// Attempts is how often one operation is repeated: 0 means any number, less than 0 never.
	Attempts int

	// Total bounds the time from the first failed attempt of an operation; 0 means that only
	// Attempts applies. At most half of Total is counted for the first attempt, which may have worked
	// for longer before it failed. No further attempt begins if, taking as long as the last one, it
	// would exceed Total by more than half.
	Total time.Duration

	// Pause is the first pause between two attempts; 0 means 100 ms. Pauses double, up to 300
	// times the first and a twentieth of Total, and up to half of each is random, so that many
	// clients do not come back together.
	Pause time.Duration
}

var (
	// Default repeats for a minute.
	Default = Policy{Total: time.Minute}
	// Never does not repeat anything.
	Never = Policy{Attempts: -1}
)

// pause returns how long to wait after attempt number try.
func (p Policy) pause(try int) time.Duration {
	first := p.Pause
	if first == 0 {
		first = 100 * time.Millisecond
	}
	most := 300 * first
	if p.Total > 0 {
		most = min(most, max(first, p.Total/20))
	}
	if try < 8 {
		most = min(most, first<<try)
	}
	return most/2 + rand.N((most+1)/2)
}

// next returns how long to wait after attempt number try of an operation that has spent that time,
// and whether to repeat it.
func (p Policy) next(try int, spent time.Duration) (time.Duration, bool) {
	switch {
	case p.Attempts < 0 || p.Attempts > 0 && try >= p.Attempts:
		return 0, false
	case p.Total == 0:
		return p.pause(try), true
	}
	left := p.Total - spent
	return min(p.pause(try), left), left > 0
}

// Budget is the shared limit of the operations of one command or job. When one operation has used
// the whole time of the policy while no other succeeded, the budget is spent: later operations do
// not wait for this time again.
type Budget struct {
	policy Policy
	told   func(waited time.Duration, err error)
	outer  *Budget // that the operation spends, which nothing below may repeat; nil if that has none
	once   bool

	answered atomic.Int64 // when something was done last, in ns since 1970
	spent    atomic.Bool
}

// New returns a budget. told, if not nil, is called before each retry with the time since the first
// failure and the latest error. It must be safe for concurrent use.
func New(p Policy, told func(waited time.Duration, err error)) *Budget {
	if p.Attempts == 0 && p.Total == 0 {
		p.Total = Default.Total
	}
	return &Budget{policy: p, told: told}
}

// Answered notes that an operation succeeded, so that the failure of other operations does not spend the budget.
func (b *Budget) Answered() {
	b.answered.Store(time.Now().UnixNano())
	b.spent.Store(false)
}

// Spent reports whether the budget is spent.
func (b *Budget) Spent() bool {
	return b != nil && (b.spent.Load() || b.outer.Spent())
}

type key struct{}

// With returns a context that carries b.
func With(ctx context.Context, b *Budget) context.Context { return context.WithValue(ctx, key{}, b) }

// Once returns a context in which nothing is repeated.
func Once(ctx context.Context) context.Context { return From(ctx).onceIn(ctx) }

func (b *Budget) onceIn(ctx context.Context) context.Context {
	return With(ctx, &Budget{policy: Never, outer: b, once: true})
}

// From returns the budget of ctx, or nil, which is never spent.
func From(ctx context.Context) *Budget {
	b, _ := ctx.Value(key{}).(*Budget)
	return b
}

// MaxRepairs is how often bytes that a store has lost are sent again. With the default policy the pauses take about 14
// seconds, because a NameNode of HDFS may choose a dead DataNode until it notices the death.
const MaxRepairs = 10

// Repair pauses before lost bytes are sent again, and returns nil; made is the number of earlier repairs. It returns err, the
// error of the last attempt, if there must be no other attempt.
func (b *Budget) Repair(ctx context.Context, made int, err error) error {
	var over *inVain
	switch {
	case errors.As(err, &over):
		return err
	case made >= MaxRepairs || b.Spent():
		return &inVain{err}
	case Sleep(ctx, b.policy.pause(made)) != nil:
		return err
	}
	return nil
}

// inVain is the error of an operation after the last permitted repair. No layer above repairs it.
type inVain struct{ error }

func (e *inVain) Unwrap() error { return e.error }

// Cure is the remedy for an error.
type Cure uint8

// The cures.
const (
	Nothing    Cure = iota
	Time            // the same attempt may succeed later
	Repetition      // the same attempt may succeed at once
)

// CureOf is the usual rule: time cures a temporary error.
func CureOf(err error) Cure {
	if pfs.KindOf(err).Temporary() {
		return Time
	}
	return Nothing
}

// Op is an operation that may be repeated.
type Op struct {
	// Repairs is how often the operation is repeated at once if Repetition is the cure, regardless of the budget.
	Repairs int
	// Cure returns the remedy for an error; nil means CureOf.
	Cure func(error) Cure
	// Told, if not nil, is called before retries of this operation, like the function passed to
	// New.
	Told func(waited time.Duration, err error)
}

func (b *Budget) tell(op Op, waited time.Duration, err error) {
	if b.told != nil {
		b.told(waited, err)
	}
	if op.Told != nil {
		op.Told(waited, err)
	}
}

// Do calls do until it succeeds, until it fails in a way that no repetition can cure, or
// until b allows no other attempt. It returns the last error. The context of do has no budget left.
func (b *Budget) Do(ctx context.Context, op Op, do func(context.Context) error) error {
	cure := op.Cure
	if cure == nil {
		cure = CureOf
	}
	inner := b.onceIn(ctx)
	repairs, try := 0, 0
	var vain time.Time // time of the first failure
	for {
		began := time.Now()
		err := do(inner)
		if err == nil {
			if try > 0 {
				b.Answered()
			}
			return nil
		}
		how := cure(err)
		if ctx.Err() != nil || how == Nothing || how == Time && b.once || b.Spent() {
			return err
		}
		took := min(time.Since(began), b.policy.Total/2)
		if vain.IsZero() {
			vain = time.Now().Add(-took)
		}
		if how == Repetition {
			if repairs++; repairs > op.Repairs {
				return &inVain{err}
			}
			b.tell(op, 0, err)
			continue
		}
		waited := time.Since(vain)
		pause, again := b.policy.next(try, waited+took/2)
		if !again {
			if errors.Is(err, pfs.Unavailable) && b.policy.Total > 0 && b.answered.Load() < vain.UnixNano() {
				b.spent.Store(true)
			}
			return err
		}
		b.tell(op, waited, err)
		if Sleep(ctx, pause) != nil {
			return err
		}
		try++
	}
}

// Sleep returns after d, or with the error of ctx.
func Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
