"""An agent's side of `gpuverify mcp`: the official SDK's client over stdio, without coroutines. It counts calls and bytes."""

import contextlib
import os
import sys

import anyio.from_thread
import mcp


class Agent(contextlib.ExitStack):
    """with Agent([command, "mcp"], env) as agent: agent.call("summary", trace="a.db")"""

    def __init__(self, argv, env, cwd="."):
        super().__init__()
        self.server = mcp.StdioServerParameters(command=argv[0], args=argv[1:], env=env, cwd=cwd)
        self.calls, self.bytes = 0, 0

    def __enter__(self):
        with contextlib.ExitStack() as opened:
            self.portal = opened.enter_context(anyio.from_thread.start_blocking_portal())
            self.client = opened.enter_context(self.portal.wrap_async_context_manager(mcp.Client(self.server)))
            self.push(opened.pop_all())
        return self

    def __exit__(self, *why):
        super().__exit__(None, None, None)  # or the SDK would wrap a test's failure in groups of exceptions
        return False

    def ask(self, tool, **arguments):
        """The answer, and whether it is an error."""
        result = self.portal.call(self.client.call_tool, tool, arguments)
        text = "".join(part.text for part in result.content)
        self.calls, self.bytes = self.calls + 1, self.bytes + len(text.encode())
        return text, bool(result.is_error)

    def call(self, tool, **arguments):
        text, is_error = self.ask(tool, **arguments)
        if is_error:
            raise AssertionError(f"{tool} {arguments}: {text}")
        return text

    def tools(self):
        return {tool.name: tool for tool in self.portal.call(self.client.list_tools).tools}

    def resources(self):
        return {str(each.uri): each for each in self.portal.call(self.client.list_resources).resources}

    def read(self, uri):
        return "".join(part.text for part in self.portal.call(self.client.read_resource, uri).contents)


def environment(source, build, *packages):
    """For a server of a checkout, on the simulator. packages: folders that this Python does not have by itself."""
    simulator = os.path.join(build, "tests", "sim")
    return {"GPUVERIFY_PYTHON": sys.executable, "LD_LIBRARY_PATH": simulator,
            "PYTHONPATH": os.pathsep.join([os.path.join(source, "python"), *packages]),
            "GPUVERIFY_CUPTI": os.path.join(simulator, "libcupti.so.13")}
