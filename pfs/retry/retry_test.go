package retry_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/retry"
)

// TestTotal checks the times in docs/scripting.md: the time that retries take depends on the
// duration of each attempt, and not on the random pauses.
func TestTotal(t *testing.T) {
	for attempt, want := range map[time.Duration]time.Duration{
		0: time.Minute, 3 * time.Second: time.Minute, 15 * time.Second: time.Minute, 30 * time.Second: time.Minute,
		time.Minute: 2 * time.Minute, 10 * time.Minute: 20 * time.Minute,
	} {
		t.Run(attempt.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var told []time.Duration
				b := retry.New(retry.Default, func(waited time.Duration, _ error) { told = append(told, waited) })
				fail := func(context.Context) error {
					time.Sleep(attempt)
					return pfs.E("test", "/f", pfs.Unavailable, nil)
				}
				began := time.Now()
				err := b.Do(t.Context(), retry.Op{}, fail)
				if took := time.Since(began); !errors.Is(err, pfs.Unavailable) || (took-want).Abs() > 6*time.Second {
					t.Errorf("%v after %v, want Unavailable after %v", err, took, want)
				}
				if len(told) == 0 || told[0] != min(attempt, 30*time.Second) || told[len(told)-1] > time.Minute {
					t.Errorf("told of repetitions after %v", told)
				}

				// The budget is spent: no other operation waits, until something succeeds.
				began = time.Now()
				if err := b.Do(t.Context(), retry.Op{}, fail); err == nil || time.Since(began) != attempt || !b.Spent() {
					t.Errorf("another operation took %v: %v", time.Since(began), err)
				}
				inner := retry.From(retry.Once(retry.With(t.Context(), b)))
				if !inner.Spent() || inner.Repair(t.Context(), 0, err) == nil {
					t.Error("the layers below do not know that the budget is spent")
				}
				if b.Answered(); b.Spent() {
					t.Error("the budget is spent although something was done")
				}
			})
		})
	}
}

// TestAttempts: layers do not multiply the number of attempts.
func TestAttempts(t *testing.T) {
	for _, tt := range []struct {
		policy retry.Policy
		kind   pfs.Kind
		want   int
	}{
		{retry.Policy{Attempts: 7}, pfs.Unavailable, 8},
		{retry.Policy{Attempts: 7}, pfs.Limit, 8},
		{retry.Policy{Attempts: 7}, pfs.NotExist, 1},
		{retry.Policy{Attempts: 7}, pfs.Integrity, 4}, // the inner layer repairs
		{retry.Never, pfs.Unavailable, 1},
		{retry.Never, pfs.Integrity, 4}, // which costs no time
	} {
		synctest.Test(t, func(t *testing.T) {
			n := 0
			b := retry.New(tt.policy, nil)
			op := retry.Op{Repairs: 3, Cure: func(err error) retry.Cure {
				if errors.Is(err, pfs.Integrity) {
					return retry.Repetition
				}
				return retry.CureOf(err)
			}}
			err := b.Do(retry.With(t.Context(), b), retry.Op{}, func(ctx context.Context) error {
				return retry.From(ctx).Do(ctx, op, func(context.Context) error {
					n++
					return pfs.E("test", "/f", tt.kind, nil)
				})
			})
			if !errors.Is(err, tt.kind) || n != tt.want {
				t.Errorf("%+v: %v after %d attempts, want %d", tt, err, n, tt.want)
			}
			if tt.kind == pfs.Integrity && b.Repair(t.Context(), 0, err) == nil {
				t.Error("what a layer has repaired in vain is repaired again")
			}
		})
	}
}

// TestCanceled: a pause ends with the context.
func TestCanceled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		err := retry.New(retry.Default, nil).Do(ctx, retry.Op{}, func(context.Context) error { return pfs.E("test", "/f", pfs.Unavailable, nil) })
		if took := time.Since(began); err == nil || took != time.Second {
			t.Errorf("%v after %v", err, took)
		}
	})
}
