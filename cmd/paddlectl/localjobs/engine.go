// Package localjobs has the jobs whose processes run on this machine: their engine, the hidden command
// that its processes run, and the command run.
package localjobs

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/paddlecloud/pfs/cmd/internal/app"
	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/paddlecloud/pfs/internal/job"
	"github.com/paddlecloud/pfs/internal/job/local"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/urfave/cli/v2"
)

// processName is the hidden command.
const processName = "job-process"

// Engine returns the engine of this machine for jobs of a datacenter. entry is the name of its service
// in the configuration.
func Engine(ctx context.Context, a *app.App, entry, datacenter string) (job.Engine, error) {
	opts, err := options(ctx, a, entry, datacenter)
	if err != nil {
		return nil, err
	}
	return local.New(opts)
}

// options returns the options of the engine for jobs of a datacenter.
func options(ctx context.Context, a *app.App, entry, datacenter string) (local.Options, error) {
	at := app.Top.Join(entry)
	c, err := a.Remotes.At(ctx, at)
	if err != nil {
		return local.Options{}, err
	}
	top, err := stateDir(a)
	if err != nil {
		return local.Options{}, err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return local.Options{}, err
	}
	return local.Options{
		Dir:        top,
		Inputs:     filepath.Join(cache, "pfs", "inputs"),
		Datacenter: datacenter,
		Service:    entry,
		FS:         c.FS,
		Command:    command(a, at),
		Environ:    os.Environ(),
		Root:       root(a, datacenter),
	}, nil
}

// Datacenter returns the service's name for the datacenter of the jobs, if all of them are on this machine; "" if not. alias is its name
// in the configuration. Without jobs it is the datacenter of any job.
func Datacenter(a *app.App, alias, user string, jobs []string) (string, error) {
	top, err := stateDir(a)
	if err != nil {
		return "", err
	}
	return local.Datacenter(top, alias, user, jobs)
}

// stateDir returns the directory for the jobs of this machine.
func stateDir(a *app.App) (string, error) {
	top := a.Main.Getenv("XDG_STATE_HOME")
	if top == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", err
		}
		top = filepath.Join(home, ".local", "state")
	}
	return filepath.Join(top, "pfs", "jobs"), nil
}

// root returns the directory that has the tree /pfs: the one that the user names, or /pfs itself if the
// datacenter is mounted there.
func root(a *app.App, datacenter string) string {
	if dir := a.Main.Getenv("PFS_ROOT"); dir != "" {
		return dir
	}
	if info, err := os.Stat(filepath.Join("/pfs", datacenter)); err == nil && info.IsDir() {
		return "/pfs"
	}
	return ""
}

// command returns the command lines that the engine asks for. A mount shows the tree root.
func command(a *app.App, root pfs.Path) func(what, dir string) *exec.Cmd {
	return func(what, dir string) *exec.Cmd {
		exe, err := os.Executable()
		if err != nil {
			exe = a.Main.Args[0]
		}
		cmd := exec.Command(exe)
		cmd.Args[0] = a.Program
		if name, err := a.ConfigName(); err == nil {
			if name, err = filepath.Abs(name); err == nil {
				cmd.Args = append(cmd.Args, "--config", name)
			}
		}
		switch what {
		case local.Mount:
			cmd.Args = append(cmd.Args, "mount", "--root", string(root), dir)
		case local.Unmount:
			cmd.Args = append(cmd.Args, "umount", dir)
		case local.Launcher:
			cmd.Args = []string{a.Program, processName, what, dir}
		default:
			cmd.Args = append(cmd.Args, processName, what, dir)
		}
		return cmd
	}
}

// Launch runs the process of a worker, if args are the command line of one, and returns its exit code. It bypasses the program
// and its commands to start fast, because the processes of all workers of a job start at once.
func Launch(args []string) (code int, is bool) {
	if len(args) != 4 || args[1] != processName || args[2] != local.Launcher {
		return 0, false
	}
	code, err := local.Launch(args[3])
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", args[0], err)
		code = 1
	}
	return code, true
}

// Process returns the hidden command that the engine runs in the background.
func Process(a *app.App) *cli.Command {
	return a.NewCommand(app.Spec{
		Name: processName, Args: "WHAT DIR", Least: 2, Most: 2, Hidden: true,
		Summary: "carry out a job of this machine",
		Run: func(ctx context.Context, operands []string) error {
			switch what, dir := operands[0], operands[1]; what {
			case local.Supervisor:
				return supervise(ctx, a, dir)
			default:
				return cliargs.Usagef("%q is not known", what)
			}
		},
	})
}

func supervise(ctx context.Context, a *app.App, dir string) error {
	datacenter, entry, err := local.Describe(dir)
	if err != nil {
		return err
	}
	opts, err := options(ctx, a, entry, datacenter)
	if err != nil {
		return err
	}
	return local.Supervise(ctx, opts, dir)
}
