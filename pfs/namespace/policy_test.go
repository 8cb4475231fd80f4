package namespace

import (
	"testing"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/auth"
)

var (
	alice     = auth.Identity{Name: "alice@example.org", Role: auth.User}
	publisher = auth.Identity{Name: "pia", Role: auth.Publisher}
	admin     = auth.Identity{Name: "root", Role: auth.Admin}
	nobody    = auth.Identity{}
)

// yes means success.
const yes = pfs.Kind(255)

func TestPolicy(t *testing.T) {
	const (
		mine   = "/pfs/dc/home/alice@example.org"
		bobs   = "/pfs/dc/home/bob"
		homes  = "/pfs/dc/home"
		set    = "/pfs/dc/public/set"
		setNow = "/pfs/public/set"
	)
	type row struct {
		path pfs.Path
		// want has a Kind for each access, in the order of package pfs:
		// Lookup, Read, ListDir, Write, Make, Delete, Discard, Administer.
		want [8]pfs.Kind
	}
	const (
		perm, dir, bad, ro = pfs.Permission, pfs.IsDir, pfs.Invalid, pfs.ReadOnly
	)
	fixed := [8]pfs.Kind{yes, dir, yes, ro, yes, bad, perm, perm}
	fixedPublic := [8]pfs.Kind{yes, yes, yes, ro, yes, bad, perm, perm}
	never := [8]pfs.Kind{perm, perm, perm, perm, perm, perm, perm, perm}
	always := [8]pfs.Kind{yes, yes, yes, yes, yes, yes, yes, yes}
	owner := [8]pfs.Kind{yes, yes, yes, yes, yes, yes, yes, perm}
	editor := [8]pfs.Kind{yes, yes, yes, yes, yes, yes, perm, perm}
	ownerTop := [8]pfs.Kind{yes, yes, yes, yes, yes, bad, yes, perm}
	reader := [8]pfs.Kind{yes, yes, yes, perm, perm, perm, perm, perm}
	adminAbove := [8]pfs.Kind{yes, dir, yes, ro, yes, bad, yes, yes}
	adminFixed := [8]pfs.Kind{yes, yes, yes, ro, yes, bad, yes, yes}
	ofUser := []row{
		{"/", fixed}, {"/pfs", fixed}, {"/pfs/dc", fixed}, {homes, fixed},
		{"/pfs/dc/public", fixedPublic}, {"/pfs/public", fixedPublic},
		{bobs, never}, {bobs + "/f", never}, {bobs + "/a/b/c/d", never}, {homes + "/alice", never},
		{homes + "/alice@example.org.", never}, {homes + "/ALICE@example.org", never}, {homes + "/public", never},
	}
	table := []struct {
		id   auth.Identity
		rows []row
	}{
		{alice, append([]row{
			{mine, ownerTop}, {mine + "/f", owner}, {mine + "/a/b/c/d", owner}, {mine + "/home/bob", owner},
			{set, reader}, {setNow, reader}, {setNow + "/home/bob", reader}, {set + "/1/part", reader},
		}, ofUser...)},
		{publisher, append([]row{
			{homes + "/pia", ownerTop}, {homes + "/pia/f", owner}, {mine, never}, {mine + "/f", never},
			{set, editor}, {setNow, editor}, {set + "/1/part", editor},
		}, ofUser...)},
		{nobody, append([]row{{mine, never}, {mine + "/f", never}, {set, reader}}, ofUser...)},
		{auth.Identity{Name: "bob", Role: "owner"}, []row{{bobs, ownerTop}, {mine, never}, {set, reader}, {homes, fixed}}},
		{admin, []row{
			{"/", adminAbove}, {"/pfs", adminAbove}, {"/pfs/dc", adminAbove},
			{homes, adminFixed}, {"/pfs/dc/public", adminFixed}, {"/pfs/public", adminFixed},
			{mine, always}, {mine + "/f", always}, {bobs + "/a/b/c", always}, {set, always}, {setNow, always},
			{homes + "/root", [8]pfs.Kind{yes, yes, yes, yes, yes, bad, yes, yes}}, {homes + "/root/f", always},
		}},
	}
	for _, part := range table {
		for _, row := range part.rows {
			for a := pfs.Lookup; a <= pfs.Administer; a++ {
				got := yes
				if err := (policy{id: part.id}).allow(a, row.path); err != nil {
					got = pfs.KindOf(err)
				}
				if got != row.want[a] {
					t.Errorf("%s %q: access %d to %s = %d, want %d", part.id.Role, part.id.Name, a, row.path, got, row.want[a])
				}
			}
		}
	}
}

// TestPolicyIsForTrees checks the rules of permfs.Policy, on all paths of up to five of the names
// that mean something.
func TestPolicyIsForTrees(t *testing.T) {
	names := []string{"pfs", "dc", home, public, user, mnt, "bob", alice.Name}
	trees := []pfs.Access{pfs.Read, pfs.Write, pfs.Delete, pfs.Discard, pfs.Administer}
	var check func(p policy, dir pfs.Path, depth int)
	check = func(p policy, dir pfs.Path, depth int) {
		for _, name := range names {
			below := dir.Join(name)
			for _, a := range trees {
				if p.allow(a, dir) == nil && p.allow(a, below) != nil {
					t.Errorf("%q: access %d is allowed to %s and not to %s", p.id.Name, a, dir, below)
				}
			}
			if depth < 5 {
				check(p, below, depth+1)
			}
		}
	}
	for _, id := range []auth.Identity{alice, publisher, admin, nobody} {
		check(policy{id, map[pfs.Path]MappedDir{
			"/pfs/dc/mnt/bob": {Access: AccessList{Everybody: true}}, "/pfs/dc/mnt/dc": {ReadOnly: true, Access: AccessList{Everybody: true}}, "/pfs/dc/mnt/pfs": {},
		}}, pfs.Root, 1)
	}
}
