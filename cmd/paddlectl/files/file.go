package files

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"github.com/paddlecloud/pfs/cmd/internal/app"
	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/cmd/paddlectl/internal/copying"
	"github.com/urfave/cli/v2"
)

// fileRules is the common part of the help texts of file and file put.
const fileRules = `SRC must be below the current directory and must not contain "../". If SRC is a
directory and ends with "/", its files are uploaded into DEST; otherwise SRC becomes a
directory in DEST. DEST must begin with /pfs/{datacenter}/home/{username} (or /user/,
the old spelling). Missing directories of DEST are made.`

// File returns the command file.
func File(a *app.App) *cli.Command {
	return a.NewCommand(app.Spec{
		Name: "file", Args: "SRC DEST", Least: 2, Most: 2,
		Summary: "Simple file operations.",
		Text: `Uploads a file or directory: "file SRC DEST" is "file put SRC DEST".

` + fileRules + `

cp, ls and rm do the same and have more flags.`,
		Examples: []string{"paddlectl file dataset/ /pfs/dc1/home/alice/dataset"},
		Exits:    app.PathExits(cliio.Integrity),
		Run:      func(ctx context.Context, operands []string) error { return runFilePut(ctx, a, operands) },
		Subs:     []*cli.Command{putCommand(a), getCommand(a), lsCommand(a), rmCommand(a)},
	})
}

func putCommand(a *app.App) *cli.Command {
	return a.NewCommand(app.Spec{
		Name: "put", Args: "SRC DEST", Least: 2, Most: 2,
		Summary:  "upload a file or directory",
		Text:     "Uploads a file or directory.\n\n" + fileRules,
		Examples: []string{"paddlectl file put dataset /pfs/dc1/home/alice"},
		Exits:    app.PathExits(cliio.Integrity),
		Run:      func(ctx context.Context, operands []string) error { return runFilePut(ctx, a, operands) },
	})
}

func runFilePut(ctx context.Context, a *app.App, operands []string) error {
	src, err := a.ParseOperand(operands[0])
	if err != nil {
		return err
	}
	if err := checkBelowHere(src); err != nil {
		return err
	}
	dest, err := a.ParseOperand(operands[1])
	if err != nil {
		return err
	}
	if dest.Side != app.Remote || !app.IsInHome(dest.Path) {
		return cliargs.Usagef("%q: DEST must begin with /pfs/{datacenter}/home/{username}", dest.Text)
	}
	o := copying.SimpleCopy()
	o.Parents = true
	return copying.CopyAll(ctx, a, o, []app.Operand{src}, dest)
}

// checkBelowHere refuses sources that are not below the current directory.
func checkBelowHere(src app.Operand) error {
	if src.Side != app.Local {
		return cliargs.Usagef("%q: SRC must be a file or directory of this machine", src.Text)
	}
	for e := range strings.SplitSeq(filepath.ToSlash(src.Local), "/") {
		if e == ".." {
			return cliargs.Usagef("%q: \"../\" is not allowed in SRC, which must be below the current directory", src.Text)
		}
	}
	here, err := os.Getwd()
	if err != nil {
		return err
	}
	abs, err := filepath.Abs(src.Local)
	if err != nil {
		return err
	}
	if rel, err := filepath.Rel(here, abs); err != nil || !filepath.IsLocal(rel) {
		return cliargs.Usagef("%q: SRC must be below the current directory %s", src.Text, here)
	}
	return nil
}

func getCommand(a *app.App) *cli.Command {
	return a.NewCommand(app.Spec{
		Name: "get", Args: "SRC DEST", Least: 2, Most: 2,
		Summary:  "download a file or directory",
		Text:     "Downloads a file or directory. Existing files are not replaced: if SRC is a file, that\nis an error; if SRC is a directory, they are skipped.",
		Examples: []string{"paddlectl file get /pfs/dc1/home/alice/model.bin ."},
		Exits:    app.PathExits(cliio.Integrity),
		Run:      func(ctx context.Context, operands []string) error { return runFileGet(ctx, a, operands) },
	})
}

func runFileGet(ctx context.Context, a *app.App, operands []string) error {
	from, err := a.RemoteOperands(operands[:1])
	if err != nil {
		return err
	}
	to, err := a.ParseOperand(operands[1])
	if err != nil {
		return err
	}
	if to.Side != app.Local {
		return cliargs.Usagef("%q: DEST must be a file or directory of this machine", to.Text)
	}
	o := copying.SimpleCopy()
	o.NoClobber = true
	return copying.CopyAll(ctx, a, o, from, to)
}

func lsCommand(a *app.App) *cli.Command {
	return a.NewCommand(app.Spec{
		Name: "ls", Args: "PATH...", Least: 1, Most: -1,
		Summary:  "list files, one name per line",
		Text:     "Lists directories and files, one name per line.",
		Examples: []string{"paddlectl file ls /pfs/dc1/home/alice"},
		Exits:    app.PathExits(),
		Run:      (&ls{Walking: app.Walking{App: a}, single: true, color: colorNever}).run,
	})
}

func rmCommand(a *app.App) *cli.Command {
	return a.NewCommand(app.Spec{
		Name: "rm", Args: "PATH...", Least: 1, Most: -1,
		Summary:  "remove files",
		Text:     "Removes files. paddlectl rm -r removes directories.",
		Examples: []string{"paddlectl file rm /pfs/dc1/home/alice/old.csv"},
		Exits:    app.PathExits(),
		Run:      (&rm{App: a}).run,
	})
}
