package dataset

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"math"

	"github.com/paddlecloud/pfs/cmd/internal/app"
	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/cmd/paddlectl/internal/datafile"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/dataset"
	"github.com/paddlecloud/pfs/pfs/dataset/recordfile"
	"github.com/paddlecloud/pfs/recordio"
	"github.com/paddlecloud/pfs/shard"
	"github.com/urfave/cli/v2"
)

// The ways to share out.
const (
	byMod        = string(dataset.ByMod)
	byLPT        = string(dataset.ByLPT)
	byRange      = string(dataset.ByRange)
	byRendezvous = string(dataset.ByRendezvous)
	byOrder      = string(dataset.ByOrder)
)

// noTrainer means that --trainer is not given.
const noTrainer = math.MinInt

type shardOptions struct {
	policy, weight, equal, shuffle string
	trainers, trainer              int
	seed, epoch                    uint64
	cursor, limit                  int64
	read, json                     bool
	as, payload                    string
	lists, state                   string
	test                           []string
	damage                         datafile.ReadOptions

	kept      *shard.State // of --state
	who       shard.Trainer
	all       bool // the plan for all trainers
	balance   shard.Weight
	equally   shard.Equal
	shuffling shard.Shuffle
}

func datasetShardCommand(a *app.App) *cli.Command {
	o := &shardOptions{policy: byMod, equal: "exact"}
	return a.NewCommand(app.Spec{
		Name: "shard", Args: "DATASET...|FILE...", Least: 1, Most: -1,
		Summary: "print what each trainer gets, or its records",
		Text: `Shares datasets or files out to trainers, and prints what one trainer gets, or with
--trainers alone what all get. --read prints the records themselves. A directory stands
for the dataset in it.

In a job, --trainer and --trainers default to PADDLE_INIT_TRAINER_ID and
PADDLE_INIT_NUM_GRADIENT_SERVERS, PADDLE_TRAINER_ID and PADDLE_TRAINERS_NUM, or
/trainer_id and /trainer_count.

A dataset with missing shards, or stale ones of another dataset, is refused. So are fewer
files than trainers, because a trainer would wait forever.

Policies:
  mod         file i to trainer i mod N, like cluster_files_reader
  lpt         whole files, the heaviest first, each to the trainer with the least
  rendezvous  whole files; few move when N changes
  range       consecutive records; the shares differ by at most one record
  order       all trainers take turns in one order of all records, which --shuffle
              (none, global, or block:WINDOW[:LANES]), --seed and --epoch choose. One
              number, the cursor, is the position of all; N may change on the way`,
		Examples: []string{
			"paddlectl dataset shard --trainers 4 --trainer 0 ./dataset",
			"paddlectl dataset shard --lists / --test '/pfs/dc1/home/alice/test/part-*.gz' '/pfs/dc1/home/alice/train/part-*.gz'",
			"paddlectl dataset shard --policy range --trainers 2 --trainer 1 --read ./dataset",
			"paddlectl dataset shard --shuffle global --seed 7 --epoch 3 --cursor 120 --trainers 2 --trainer 0 --read ./dataset",
		},
		Exits: app.PathExits(cliio.Integrity),
		Flags: o.flags(),
		Run:   func(ctx context.Context, operands []string) error { return runShard(ctx, a, o, operands) },
	})
}

func (o *shardOptions) flags() []cli.Flag {
	return []cli.Flag{
		&cli.IntFlag{Name: "trainers", Usage: "share out to `N` trainers", DefaultText: "from the job", Destination: &o.trainers},
		&cli.IntFlag{Name: "trainer", Usage: "print what trainer `I` gets, counted from 0", Value: noTrainer, DefaultText: "from the job", Destination: &o.trainer},
		&cli.GenericFlag{Name: "policy", Usage: "share out by `NAME`: mod, lpt, range, rendezvous, order", Value: cliargs.OneOf(&o.policy, byMod, byLPT, byRange, byRendezvous, byOrder)},
		&cli.GenericFlag{Name: "weight", Usage: "lpt balances `WHAT`: records or bytes", DefaultText: "bytes", Value: cliargs.OneOf(&o.weight, "records", "bytes")},
		&cli.GenericFlag{Name: "equal", Usage: "`HOW` to share: exact, or the same number of records to all by drop (leave some out) or pad (repeat the first ones); standard error says how many", Value: cliargs.OneOf(&o.equal, "exact", "drop", "pad")},
		&cli.GenericFlag{Name: "shuffle", Usage: "`ORDER` of the records: none, global, block:WINDOW[:LANES]; implies --policy order", Value: cliargs.Suggest(&o.shuffle, "none", "global", "block:")},
		&cli.Uint64Flag{Name: "seed", Usage: "shuffle by the number `N`", Destination: &o.seed},
		&cli.Uint64Flag{Name: "epoch", Usage: "shuffle for epoch `N`", Destination: &o.epoch},
		&cli.Int64Flag{Name: "cursor", Usage: "start after the first `N` records of the order, those of all trainers together", Destination: &o.cursor},
		&cli.StringFlag{Name: "state", Usage: "resume the order at the position in `FILE`, printed by --json: dataset, shuffle, seed, epoch and cursor; another dataset is refused", Destination: &o.state},
		&cli.BoolFlag{Name: "read", Usage: "print the records of the trainer", Destination: &o.read},
		&cli.GenericFlag{Name: "as", Usage: "print records as `FORM`: json, one decoded record per line, or recordio", DefaultText: "json", Value: cliargs.OneOf(&o.as, "json", "recordio")},
		payloadFlag(&o.payload),
		&cli.Int64Flag{Name: "limit", Aliases: []string{"n"}, Usage: "read at most `N` records", Value: -1, DefaultText: "all", Destination: &o.limit},
		o.damage.DamageFlag("fail"),
		&cli.StringFlag{Name: "lists", Usage: "write the file names to train.list in `DIR` (/ in a job) instead of printing them; --json describes the lists", Destination: &o.lists},
		&cli.GenericFlag{Name: "test", Usage: "with --lists, share out the files of `PATTERN` by mod and write them to test.list; several times", Value: app.ListFlag(&o.test)},
		app.JSONFlag(&o.json),
	}
}

// check turns the values of the flags into options.
func (o *shardOptions) check(env shard.Env) error {
	var err error
	if o.equally, err = shard.ParseEqual(o.equal); err != nil {
		return err
	}
	if o.shuffling, err = shard.ParseShuffle(o.shuffle); err != nil {
		return cliargs.Usagef("--shuffle %s: none, global or block:WINDOW[:LANES] is needed", o.shuffle)
	}
	if o.shuffle != "" && o.policy == byMod {
		o.policy = byOrder
	}
	if o.weight == "records" {
		o.balance = shard.ByRecords
	}
	if err := o.checkPolicy(); err != nil {
		return err
	}
	return o.checkTrainer(env)
}

// checkPolicy refuses flags that do not go together.
func (o *shardOptions) checkPolicy() error {
	whole := o.policy == byMod || o.policy == byLPT || o.policy == byRendezvous
	switch {
	case o.shuffle != "" && o.policy != byOrder:
		return cliargs.Usagef("--shuffle is for --policy order, not %s", o.policy)
	case o.lists != "" && (!whole || o.read):
		return cliargs.Usagef("--lists is for whole files: --policy mod, lpt or rendezvous, without --read")
	case len(o.test) > 0 && o.lists == "":
		return cliargs.Usagef("--test is for --lists")
	case o.cursor < 0 || o.cursor > 0 && o.policy != byOrder:
		return cliargs.Usagef("--cursor is a number from 0 up, for --policy order")
	}
	return o.checkEffect()
}

// checkEffect refuses flags that would have no effect.
func (o *shardOptions) checkEffect() error {
	const order = "--policy order or --shuffle"
	for _, f := range []struct {
		name, needs string
		given, idle bool
	}{
		{"--seed", order, o.seed != 0, o.policy != byOrder},
		{"--epoch", order, o.epoch != 0, o.policy != byOrder},
		{"--weight", "--policy lpt", o.weight != "", o.policy != byLPT},
		{"--as", "--read", o.as != "", !o.read},
		{"--payload", "--read", o.payload != "", !o.read},
		{"--limit", "--read", o.limit >= 0, !o.read},
		{"--on-damage", "--read", o.damage.Policy() != recordio.Fail, !o.read},
	} {
		if f.given && f.idle {
			return cliargs.Usagef("%s has no effect without %s", f.name, f.needs)
		}
	}
	switch {
	case o.payload != "" && o.as == "recordio":
		return cliargs.Usagef("--payload has no effect with --as recordio, which prints records as they are")
	case o.json && o.as == "recordio":
		return cliargs.Usagef("--json and --as recordio contradict each other")
	case o.damage.Policy() != recordio.Fail && (o.policy == byRange || o.policy == byOrder):
		return cliargs.Usagef("--on-damage %s is for whole files, --policy mod, lpt or rendezvous: policy %s uses record numbers, which damage changes", o.damage.Damage, o.policy)
	case o.damage.Policy() != recordio.Fail && o.equally != shard.Exact:
		return cliargs.Usagef("--on-damage %s and --equal %s contradict each other: it is not known beforehand how many records are lost", o.damage.Damage, o.equal)
	case o.equally != shard.Exact && o.lists != "":
		return cliargs.Usagef("--equal %s has no effect with --lists, whose readers read whole files", o.equal)
	}
	return nil
}

// checkTrainer determines the trainer and the number of trainers.
func (o *shardOptions) checkTrainer(env shard.Env) error {
	switch {
	case o.trainers < 0:
		return cliargs.Usagef("--trainers %d: a number from 1 up is needed", o.trainers)
	case o.trainer < 0 && o.trainer != noTrainer:
		return cliargs.Usagef("--trainer %d: a number from 0 up is needed; --trainers alone shows all trainers", o.trainer)
	case o.trainers > 0 && o.trainer >= 0:
		o.who = shard.Trainer{ID: o.trainer, Count: o.trainers}
		return o.who.Check()
	case o.trainer >= 0:
		return cliargs.Usagef("--trainer %d of how many: --trainers is needed", o.trainer)
	case o.trainers > 0:
		o.all = true
		if o.read || o.lists != "" {
			return cliargs.Usagef("--read and --lists are for one trainer: --trainer is needed")
		}
		o.who = shard.Trainer{Count: o.trainers}
		return nil
	}
	var err error
	o.who, err = env.Trainer()
	if errors.Is(err, shard.ErrNoTrainer) {
		return cliargs.Usagef("the number of trainers is needed: --trainers N, and --trainer I for one of them, or a job that sets them (PADDLE_TRAINER_ID, PADDLE_TRAINERS_NUM)")
	}
	return err
}

func runShard(ctx context.Context, a *app.App, o *shardOptions, operands []string) error {
	if err := o.goOn(ctx, a); err != nil {
		return err
	}
	if err := o.check(trainerEnv(a)); err != nil {
		return err
	}
	inputs, err := datafile.Operands(ctx, a, operands)
	if err != nil {
		return err
	}
	s := &sharing{a: a, o: o}
	s.Sharing, err = dataset.Share(ctx, inputs, dataset.ShareOptions{
		Trainer: o.who, Policy: dataset.SharePolicy(o.policy), Weight: o.balance, Equal: o.equally,
		Shuffle: o.shuffling, Seed: o.seed, Epoch: o.epoch, Cursor: o.cursor, State: o.kept, StateTitle: o.state,
		OnDamage: o.damage.Policy(), Damaged: datafile.Damaged(a), Tail: s.tellTail,
		Meter: func(bytes int64, files int) recordfile.Meter { return a.StartMeter(a.OnScreen(), bytes, files) },
	})
	switch {
	case err != nil:
	case o.lists != "":
		err = s.writeLists(ctx)
	case o.read:
		err = s.read(ctx)
	default:
		err = s.print()
	}
	return withHint(ctx, a, err)
}

// trainerEnv is the part of the environment that states which trainer this process is.
func trainerEnv(a *app.App) shard.Env {
	lookup := func(name string) (string, bool) {
		text := a.Main.Getenv(name)
		return text, text != ""
	}
	return shard.Env{Lookup: lookup, Root: a.Main.Root}
}

// mostState bounds the file that --state names.
const mostState = 64 << 10

// goOn takes the flags of the order from the file of --state, which is output of --json with the
// cursor.
func (o *shardOptions) goOn(ctx context.Context, a *app.App) error {
	if o.state == "" {
		return nil
	}
	if o.shuffle != "" || o.seed != 0 || o.epoch != 0 || o.cursor != 0 {
		return cliargs.Usagef("--state sets --shuffle, --seed, --epoch and --cursor: give these, or the file")
	}
	if o.policy != byMod && o.policy != byOrder {
		return cliargs.Usagef("--state is for --policy order, not %s", o.policy)
	}
	kept, err := readState(ctx, a, o.state)
	if err != nil {
		return err
	}
	o.kept = &kept
	o.policy, o.shuffle, o.seed, o.epoch, o.cursor = byOrder, kept.Shuffle, kept.Seed, kept.Epoch, kept.Cursor
	return nil
}

// readState reads the state in a file.
func readState(ctx context.Context, a *app.App, operand string) (shard.State, error) {
	f, err := datafile.One(ctx, a, operand)
	if err != nil {
		return shard.State{}, err
	}
	in, err := datafile.Open(ctx, a, f, nil)
	if err != nil {
		return shard.State{}, err
	}
	defer in.Close()
	text, err := io.ReadAll(io.LimitReader(in, mostState))
	if err != nil {
		return shard.State{}, err
	}
	var kept dataset.Position
	strict := json.NewDecoder(bytes.NewReader(text))
	strict.DisallowUnknownFields()
	if err := strict.Decode(&kept); err != nil {
		return shard.State{}, recordfile.WithKind(app.NamedError(in.Title, err), pfs.Integrity)
	}
	return kept.State, nil
}
