package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/paddlecloud/pfs/cmd/internal/app"
	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/paddlecloud/pfs/internal/job"
	"github.com/paddlecloud/pfs/internal/job/launch"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/urfave/cli/v2"
)

// rankOptions are the flags of the commands for a rank of a job.
type rankOptions struct {
	a         *app.App
	spec, dir string
	service   app.Service

	rank launch.Rank // from the file and the environment
}

const rankText = `
The rank is in the environment: PFS_ROLE, PFS_INDEX (also as NAME-INDEX), PFS_ATTEMPT;
optionally PFS_RESTART and PFS_EVICTED, whose sum is the number of restarts; and
PFS_TRAINERS and PFS_PSERVERS, which list the addresses of all ranks.`

// flags returns the flags, with those for the service if remote.
func (o *rankOptions) flags(remote bool, more ...cli.Flag) []cli.Flag {
	flags := []cli.Flag{
		&cli.StringFlag{Name: "spec", Usage: "read the description of the job from `FILE`", Destination: &o.spec},
		&cli.StringFlag{Name: "dir", Usage: "share the directory `DIR` with the other commands for this rank", Destination: &o.dir},
	}
	if remote {
		flags = append(flags,
			&cli.StringFlag{Name: "service", Usage: "use the service at `URL`, with the token in PFS_TOKEN_FILE and without a configuration", Destination: &o.service.Endpoint},
			&cli.StringFlag{Name: "fingerprint", Usage: "accept the certificate of --service only if its SHA-256 is `HEX`", Destination: &o.service.Fingerprint},
		)
	}
	return append(flags, more...)
}

// read reads the description of the job and the environment.
func (o *rankOptions) read() error {
	if o.spec == "" || o.dir == "" {
		return cliargs.Usagef("--spec and --dir are needed")
	}
	text, err := os.ReadFile(o.spec)
	if err != nil {
		return err
	}
	r := &o.rank
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&r.Spec); err != nil {
		return cliargs.Usagef("%s: %v", o.spec, err)
	}
	env := o.a.Main.Getenv
	r.Role = env("PFS_ROLE")
	known := false
	for _, role := range r.Spec.Roles {
		known = known || role.Name == r.Role
	}
	if !known {
		return cliargs.Usagef("PFS_ROLE is %q, which is no role of the job", r.Role)
	}
	evicted := 0
	for name, to := range map[string]*int{"PFS_INDEX": &r.Index, "PFS_ATTEMPT": &r.Attempt, "PFS_RESTART": &r.Restart, "PFS_EVICTED": &evicted} {
		value := env(name)
		if i := strings.LastIndexByte(value, '-'); i > 0 {
			value = value[i+1:]
		}
		if value == "" && (name == "PFS_RESTART" || name == "PFS_EVICTED") {
			continue
		}
		if *to, err = strconv.Atoi(value); err != nil || *to < 0 {
			return cliargs.Usagef("%s is %q, which is not a number", name, value)
		}
	}
	r.Restart += evicted
	for name, to := range map[string]*[]string{"PFS_TRAINERS": &r.Trainers, "PFS_PSERVERS": &r.Pservers} {
		if list := env(name); list != "" {
			*to = strings.Split(list, ",")
		}
	}
	return nil
}

// tree returns the service's tree.
func (o *rankOptions) tree(ctx context.Context) (pfs.FileSystem, error) {
	o.service.TokenFile = o.a.Main.Getenv("PFS_TOKEN_FILE")
	if o.service.Endpoint != "" && o.service.TokenFile == "" {
		return nil, cliargs.Usagef("--service needs PFS_TOKEN_FILE, the name of a file with a token")
	}
	fsys, _, _, err := o.a.Remotes.Tree(ctx, job.Dir(o.rank.Spec.Datacenter, o.rank.Spec.User, o.rank.Spec.Name), o.service)
	return fsys, err
}

// The container of a rank may be restarted in place. Each of its runs has a rank directory.

// runDir returns the directory of run n.
func (o *rankOptions) runDir(n int) job.RankDir {
	return job.RankDir(filepath.Join(o.dir, fmt.Sprintf("run-%d", n)))
}

const launchLock = "launch.lock" // in job.RankDir.Run: exists once the launcher has begun, and is locked while it lives

// lockRun locks the run for this launcher. The lock ends with the process, however that ends.
func lockRun(dir job.RankDir) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir.Run(), launchLock), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	// It may have to wait for a moment: launched looks at the lock.
	for err = syscall.EINTR; err == syscall.EINTR; {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX)
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("%s: %w", f.Name(), err)
	}
	return f, nil
}

// launched reports whether the launcher of a run has begun, and whether it lives. Containers of one pod share the
// kernel, so a file lock tells that at once, where a heartbeat would take a minute.
func launched(dir job.RankDir) (begun, lives bool, err error) {
	f, err := os.Open(filepath.Join(dir.Run(), launchLock))
	if errors.Is(err, os.ErrNotExist) {
		return false, false, nil
	}
	if err != nil {
		return false, false, err
	}
	defer f.Close()
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB)
	if err == syscall.EWOULDBLOCK {
		return true, true, nil
	}
	return true, false, err
}

// terminationLog is where Kubernetes takes the last message of a container from, at most 4096 bytes.
const (
	terminationLog = "/dev/termination-log"
	maxTermination = 4096
)

// leaveMessage writes the last message of this container, if there is a place for it.
func leaveMessage(message any) {
	if _, err := os.Stat(terminationLog); err != nil {
		return
	}
	if text, err := json.Marshal(message); err == nil && len(text) <= maxTermination {
		_ = os.WriteFile(terminationLog, text, 0o644)
	}
}
