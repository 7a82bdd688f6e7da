#!/usr/bin/env python3
"""FastMCP's proxy over stdio before a server, as `hop.sh` measures it.

    fastmcp_proxy.py fresh|kept PROGRAM [ARGUMENT …]

"fresh" is what its documentation recommends: each request gets a session of its own with the server, whose process
is kept. "kept" hands it a client that is connected already, so that one session serves all requests."""

import asyncio
import sys

from fastmcp import Client
from fastmcp.client.transports import StdioTransport
from fastmcp.server import create_proxy


async def main():
    way, program, *arguments = sys.argv[1:]
    transport = StdioTransport(command=program, args=arguments)
    if way == "fresh":
        await create_proxy(transport, name="proxy").run_async(transport="stdio", show_banner=False)
        return
    async with Client(transport) as client:
        await create_proxy(client, name="proxy").run_async(transport="stdio", show_banner=False)


asyncio.run(main())
