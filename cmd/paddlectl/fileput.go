package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/urfave/cli/v2"
)

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
	if dest.side != remote || !isInHome(dest.path) {
		return cliargs.Usagef("%q: DEST must begin with /pfs/{datacenter}/home/{username}", dest.text)
	}
	o := simpleCopy()
	o.parents = true
	return d.copyAll(ctx, o, []operand{src}, dest)
}

// checkBelowHere refuses sources that are not below the current directory.
func checkBelowHere(src operand) error {
	if src.side != local {
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
