package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/transfer"
	"github.com/urfave/cli/v2"
)

// fileRules is what the help texts of file and file put have in common.
const fileRules = `SRC must be below the current directory, and "../" is not allowed in it. If SRC is
a directory and ends with "/", the files under it are uploaded and no new directory
is made under DEST; if it does not, SRC becomes a directory in DEST. DEST must begin
with /pfs/{datacenter}/home/{username} (or /user/, the old spelling). What is
missing of DEST is made.`

func (d *deps) fileCommand() *cli.Command {
	return d.command(spec{
		name: "file", args: "SRC DEST", least: 2, most: 2,
		summary: "Simple file operations.",
		text: `Uploads a file or directory: "file SRC DEST" is "file put SRC DEST".

` + fileRules + `

cp, ls and rm do the same with more choices.`,
		examples: []string{"paddlectl file dataset/ /pfs/dc1/home/alice/dataset"},
		exits:    pathExits(cliio.Integrity),
		run:      func(ctx context.Context, operands []string) error { return runFilePut(ctx, d, operands) },
		subs:     []*cli.Command{d.filePutCommand(), d.fileGetCommand(), d.fileLsCommand(), d.fileRmCommand()},
	})
}

func (d *deps) filePutCommand() *cli.Command {
	return d.command(spec{
		name: "put", args: "SRC DEST", least: 2, most: 2,
		summary:  "upload a file or directory",
		text:     "Uploads a file or directory.\n\n" + fileRules,
		examples: []string{"paddlectl file put dataset /pfs/dc1/home/alice"},
		exits:    pathExits(cliio.Integrity),
		run:      func(ctx context.Context, operands []string) error { return runFilePut(ctx, d, operands) },
	})
}

func runFilePut(ctx context.Context, d *deps, operands []string) error {
	src, err := d.parseOperand(operands[0])
	if err != nil {
		return err
	}
	if err := checkBelowHere(src); err != nil {
		return err
	}
	dest, err := d.parseOperand(operands[1])
	if err != nil {
		return err
	}
	if dest.place != remote || !isInHome(dest.path) {
		return cliargs.Usagef("%q: DEST must begin with /pfs/{datacenter}/home/{username}", dest.text)
	}
	o := simpleCopy()
	o.parents = true
	return d.copyAll(ctx, o, []operand{src}, dest)
}

// simpleCopy returns the options of file put and file get.
func simpleCopy() *copyOptions {
	return &copyOptions{recursive: true, parallel: transfer.DefaultParallel, retries: defaultRetries}
}

// checkBelowHere refuses sources that are not below the current directory.
func checkBelowHere(src operand) error {
	if src.place != local {
		return cliargs.Usagef("%q: SRC must be a file or directory of this machine", src.text)
	}
	for e := range strings.SplitSeq(filepath.ToSlash(src.local), "/") {
		if e == ".." {
			return cliargs.Usagef("%q: \"../\" is not allowed in SRC, which must be below the current directory", src.text)
		}
	}
	here, err := os.Getwd()
	if err != nil {
		return err
	}
	abs, err := filepath.Abs(src.local)
	if err != nil {
		return err
	}
	if rel, err := filepath.Rel(here, abs); err != nil || !filepath.IsLocal(rel) {
		return cliargs.Usagef("%q: SRC must be below the current directory %s", src.text, here)
	}
	return nil
}

// isInHome reports whether p is a home or below one.
func isInHome(p pfs.Path) bool {
	parts := strings.Split(string(p), "/") // "", pfs, DC, home, USER
	return len(parts) >= 5 && parts[3] == "home"
}

func (d *deps) fileGetCommand() *cli.Command {
	return d.command(spec{
		name: "get", args: "SRC DEST", least: 2, most: 2,
		summary:  "download a file or directory",
		text:     "Downloads a file or directory. Files that exist are not replaced: for one file that\nis an error, in a directory they are left as they are.",
		examples: []string{"paddlectl file get /pfs/dc1/home/alice/model.bin ."},
		exits:    pathExits(cliio.Integrity),
		run:      func(ctx context.Context, operands []string) error { return runFileGet(ctx, d, operands) },
	})
}

func runFileGet(ctx context.Context, d *deps, operands []string) error {
	from, err := d.remoteOperands(operands[:1])
	if err != nil {
		return err
	}
	to, err := d.parseOperand(operands[1])
	if err != nil {
		return err
	}
	if to.place != local {
		return cliargs.Usagef("%q: DEST must be a file or directory of this machine", to.text)
	}
	o := simpleCopy()
	o.noClobber = true
	return d.copyAll(ctx, o, from, to)
}

func (d *deps) fileLsCommand() *cli.Command {
	return d.command(spec{
		name: "ls", args: "PATH...", least: 1, most: -1,
		summary:  "list files, one name a line",
		text:     "Lists directories and files, one name a line.",
		examples: []string{"paddlectl file ls /pfs/dc1/home/alice"},
		exits:    pathExits(),
		run: func(ctx context.Context, operands []string) error {
			return runLs(ctx, d, lsOptions{single: true}, operands)
		},
	})
}

func (d *deps) fileRmCommand() *cli.Command {
	return d.command(spec{
		name: "rm", args: "PATH...", least: 1, most: -1,
		summary:  "remove files",
		text:     "Removes files. paddlectl rm -r removes directories.",
		examples: []string{"paddlectl file rm /pfs/dc1/home/alice/old.csv"},
		exits:    pathExits(),
		run:      func(ctx context.Context, operands []string) error { return runRm(ctx, d, rmOptions{}, operands) },
	})
}
