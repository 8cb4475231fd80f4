"""Processes change a database with a rollback journal; some are killed. Money moves, and none is lost."""
import os, random, signal, sqlite3, sys, time

def connect():
    c = sqlite3.connect("bank.db", timeout=60, isolation_level=None)
    c.execute("pragma journal_mode=delete")
    c.execute("pragma synchronous=full")
    return c

def work(seed, rounds):
    r, c = random.Random(seed), connect()
    for i in range(rounds):
        c.execute("begin immediate")
        a, b, n = r.randrange(100), r.randrange(100), r.randrange(50)
        c.execute("update account set money = money - ? where id = ?", (n, a))
        c.execute("insert into log values (?, ?, ?, ?)", (a, b, n, r.randbytes(r.randrange(3000))))
        c.execute("update account set money = money + ? where id = ?", (n, b))
        c.execute("rollback" if i % 7 == 6 else "commit")

long = bool(os.environ["LONG"])
c = connect()
c.execute("create table account (id integer primary key, money integer)")
c.execute("create table log (a, b, n, note)")
c.executemany("insert into account values (?, 100)", [(i,) for i in range(100)])
c.close()
for trial in range(20 if long else 2):
    children = []
    for k in range(3):
        pid = os.fork()
        if pid == 0:
            work(trial * 10 + k, 60 if long else 12)
            os._exit(0)
        children.append(pid)
    time.sleep(random.random() * (1.5 if long else 0.2))
    os.kill(children[0], signal.SIGKILL)
    for pid in children:
        _, status = os.waitpid(pid, 0)
        if pid != children[0] and status != 0:
            sys.exit("a process ended with status %d" % status)
    c = connect()
    check = c.execute("pragma integrity_check").fetchone()[0]
    money = c.execute("select sum(money) from account").fetchone()[0]
    if check != "ok" or money != 10000:
        sys.exit("%s, %s" % (check, money))
    c.close()
