package fair

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// askers line up in a queue that has one place, which is taken until go on.
type askers struct {
	q     *Queue
	order []string // of those who got the place
}

// line lines up one who writes down the name and keeps the place for a second.
func (a *askers) line(name string, claims ...string) {
	var cs []Claim
	for _, c := range claims {
		cs = append(cs, Claim{Key: c})
	}
	go func() {
		release, err := a.q.Take(context.Background(), cs...)
		if err != nil {
			panic(err)
		}
		a.order = append(a.order, name)
		time.Sleep(time.Second)
		release()
	}()
	synctest.Wait()
}

func TestPlacesAreGivenInTurn(t *testing.T) {
	tests := []struct {
		name string
		line func(a *askers)
		want string
	}{
		{"in the order of arrival", func(a *askers) {
			a.line("1", "alice")
			a.line("2", "bob")
			a.line("3", "carol")
		}, "1 2 3"},
		{"one who asks for few overtakes one who asks for many", func(a *askers) {
			for i := range 5 {
				a.line(fmt.Sprint("a", i), "alice")
			}
			a.line("b0", "bob")
			a.line("b1", "bob")
		}, "a0 b0 a1 b1 a2 a3 a4"},
		{"on behalf of two: many names of one address", func(a *askers) {
			for i := range 4 {
				a.line(fmt.Sprint("a", i), fmt.Sprint("account ", i), "network A")
			}
			a.line("b", "account b", "network B")
		}, "a0 b a1 a2 a3"},
		{"on behalf of two: one name from many addresses", func(a *askers) {
			for i := range 4 {
				a.line(fmt.Sprint("a", i), "account a", fmt.Sprint("network ", i))
			}
			a.line("b", "account b", "network B")
		}, "a0 b a1 a2 a3"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := &askers{q: New(1)}
				tt.line(a)
				time.Sleep(time.Minute)
				synctest.Wait()
				if got := strings.Join(a.order, " "); got != tt.want {
					t.Errorf("places were given in the order %s, want %s", got, tt.want)
				}
				if n := len(a.q.members); n > 0 {
					t.Errorf("%d claimants are remembered", n)
				}
			})
		})
	}
}

// TestNobodyStarves has one user with one request at a time, and one with many at a time.
func TestNobodyStarves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(1)
		ctx, cancel := context.WithCancel(t.Context())
		got := map[string]int{}
		busy := func(name string) {
			for {
				release, err := q.Take(ctx, Claim{Key: name})
				if err != nil {
					return
				}
				got[name]++ // by one at a time: the queue has one place
				time.Sleep(time.Millisecond)
				release()
			}
		}
		for range 64 {
			go busy("alice")
		}
		go busy("bob")
		go busy("carol")
		time.Sleep(3 * time.Second)
		cancel()
		time.Sleep(time.Second)
		synctest.Wait()
		for _, name := range []string{"alice", "bob", "carol"} {
			if n := got[name]; n < 900 || n > 1100 {
				t.Errorf("%s got %d of the 3000 places, want a third", name, n)
			}
		}
	})
}

func TestShares(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(3)
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		alice, network := Claim{"alice", 1}, Claim{"network", 2}
		full := func(claims ...Claim) int {
			_, err := q.Take(short, claims...)
			if e := new(Full); errors.As(err, &e) {
				return e.Claim
			}
			return -2
		}
		one, err := q.Take(short, alice, network)
		if err != nil {
			t.Fatal(err)
		}
		two, err := q.Take(short, Claim{"bob", 1}, network)
		if err != nil {
			t.Fatal(err)
		}
		got := make([]int, 2)
		go func() { got[0] = full(alice, network) }()
		go func() { got[1] = full(Claim{"carol", 1}, network) }()
		synctest.Wait()
		if q.Waiting() != 2 {
			t.Errorf("%d wait, want 2", q.Waiting())
		}
		three, err := q.Take(short, Claim{"dave", 1}) // those who wait for their share do not keep others waiting
		if err != nil {
			t.Fatal(err)
		}
		if n := full(Claim{"erin", 1}); n != -1 {
			t.Errorf("all places are taken, and claim %d is said to have its share", n)
		}
		synctest.Wait()
		if !slices.Equal(got, []int{0, 1}) {
			t.Errorf("claims %v have their shares, want 0 and 1", got)
		}
		for _, release := range []func(){one, two, three} {
			release()
			release()
		}
		if q.Taken() != 0 || q.Waiting() != 0 || len(q.members) != 0 {
			t.Errorf("%d taken, %d waiting, %d known at the end", q.Taken(), q.Waiting(), len(q.members))
		}
	})
}

func TestAPlaceThatIsKeptTooLongIsGivenToTheNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(1)
		late, err := q.TakeFor(t.Context(), time.Millisecond, Claim{Key: "alice"})
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		next, err := q.TakeFor(t.Context(), time.Millisecond, Claim{Key: "bob"})
		if err != nil || time.Since(began) != time.Millisecond {
			t.Errorf("the next one waited %v, %v", time.Since(began), err)
		}
		late()
		if q.Taken() != 1 {
			t.Errorf("%d places are taken, want that of the next one", q.Taken())
		}
		next()
		if q.Taken() != 0 {
			t.Errorf("%d places are taken at the end", q.Taken())
		}
	})
}
