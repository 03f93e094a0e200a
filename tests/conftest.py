# SPDX-License-Identifier: GPL-2.0-or-later
"""How the tests run: the long ones first, a line for each as it ends, and the count as the last line."""
import os
import signal

import pytest

import guest  # names this run of the tests, before there are worker processes

# what a shell has started with & ignores Ctrl-C, as does all that it starts in turn: some tests send it to theirs
signal.signal(signal.SIGINT, signal.default_int_handler)


def label(nodeid):
    """tests/test_cli.py::test_values[a] is cli.values[a]."""
    path, _, name = nodeid.partition("@")[0].partition("::")
    return f"{os.path.basename(path)[:-3].removeprefix('test_')}.{name.removeprefix('test_')}"


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    for item in items:
        item.extra_keyword_matches.add(label(item.nodeid))
    if os.environ.get("UPTO_TEST_ORDER") == "given":
        return
    items.sort(key=lambda i: -max((m.args[0] for m in i.iter_markers("weight")), default=0))


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem):
    """What a test returns is its note: the figures that it compared."""
    arguments = {name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}
    note = pyfuncitem.obj(**arguments)
    if note is not None:
        pyfuncitem.user_properties.append(("note", note))
    return True


@pytest.hookimpl(hookwrapper=True)
def pytest_report_teststatus(report, config):
    """Keep the category, and leave the line to pytest_runtest_logreport()."""
    outcome = yield
    category, *_ = outcome.get_result()
    outcome.force_result((category, "", ""))


def keep(report):
    """What a failed test said stays under its name, until it passes."""
    path = os.path.join(guest.WORK, "failed", label(report.nodeid).replace("/", "-")[:200] + ".txt")
    if report.failed:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as f:
            f.write(report.longreprtext + "\n")
    elif report.when == "call" and os.path.exists(path):
        os.unlink(path)


class Lines:
    """A line for each test as it ends."""
    def __init__(self, terminal):
        self.terminal = terminal
        self.seconds = {}

    def pytest_runtest_logreport(self, report):
        self.seconds[report.nodeid] = self.seconds.get(report.nodeid, 0) + report.duration
        keep(report)
        if report.when == "call" or not report.passed:
            word = {"passed": "ok", "failed": "FAIL", "skipped": "skip"}[report.outcome]
            note = dict(report.user_properties).get("note")
            if report.skipped:
                note = report.longrepr[2].removeprefix("Skipped: ")
            seconds = self.seconds[report.nodeid]
            self.terminal.write_line(f"{word:4} {label(report.nodeid)} ({seconds:.1f} s){f': {note}' if note else ''}")
            self.terminal._tw.flush()


@pytest.hookimpl(trylast=True)
def pytest_configure(config):
    terminal = config.pluginmanager.getplugin("terminalreporter")
    if terminal and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Lines(terminal))


def counts(terminal):
    number = {what: len(terminal.stats.get(what, ())) for what in ("passed", "failed", "error", "skipped")}
    return number["passed"], number["failed"] + number["error"], number["skipped"]


@pytest.hookimpl(tryfirst=True, hookwrapper=True)
def pytest_sessionfinish(session, exitstatus):
    """No success where nothing was tested."""
    terminal = session.config.pluginmanager.getplugin("terminalreporter")
    if terminal and not hasattr(session.config, "workerinput") and not session.config.option.collectonly:
        if exitstatus == pytest.ExitCode.OK and counts(terminal)[0] == 0:
            session.exitstatus = pytest.ExitCode.NO_TESTS_COLLECTED
    yield


@pytest.hookimpl(trylast=True)
def pytest_unconfigure(config):
    terminal = config.pluginmanager.getplugin("terminalreporter")
    if terminal and not hasattr(config, "workerinput") and not config.option.collectonly:
        passed, failed, skipped = counts(terminal)
        print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""), flush=True)
