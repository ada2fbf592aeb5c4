"""An MCP server with one tool, which converts lengths, weights and volumes. Speaks JSON-RPC on stdin and stdout."""

import json
import sys
from decimal import Decimal

# Metres, kilograms and litres of one unit.
UNITS = {
    "metre": ("length", "1"), "kilometre": ("length", "1000"), "mile": ("length", "1609.344"),
    "furlong": ("length", "201.168"), "fathom": ("length", "1.8288"), "inch": ("length", "0.0254"),
    "kilogram": ("weight", "1"), "gram": ("weight", "0.001"), "pound": ("weight", "0.45359237"),
    "litre": ("volume", "1"), "gallon": ("volume", "3.785411784"), "barrel": ("volume", "158.987294928"),
}

TOOL = {
    "name": "convert",
    "description": "Converts an amount from one unit to another. Units: " + ", ".join(UNITS) + ".",
    "inputSchema": {
        "type": "object",
        "properties": {
            "amount": {"type": "string", "description": "The amount, in digits."},
            "from": {"type": "string", "description": "The unit it is in."},
            "to": {"type": "string", "description": "The unit that is wanted."},
        },
        "required": ["amount", "from", "to"],
    },
}


def convert(arguments):
    (kind, size), (other, wanted) = UNITS[arguments["from"]], UNITS[arguments["to"]]
    if kind != other:
        raise ValueError(f"a {kind} is no {other}")
    amount = Decimal(arguments["amount"]) * Decimal(size) / Decimal(wanted)
    return format(amount.quantize(Decimal("0.001")).normalize(), "f")


def call(params):
    try:
        return {"content": [{"type": "text", "text": convert(params["arguments"])}]}
    except (ArithmeticError, KeyError, ValueError) as error:
        return {"content": [{"type": "text", "text": f"cannot convert: {error}"}], "isError": True}


def answer(method, params):
    if method == "initialize":
        about = {"name": "units", "version": "1"}
        return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": about}
    return {"tools/list": lambda: {"tools": [TOOL]}, "tools/call": lambda: call(params), "ping": dict}[method]()


for line in sys.stdin:
    request = json.loads(line)
    if "id" not in request:
        continue  # a notification
    reply = {"jsonrpc": "2.0", "id": request["id"]}
    try:
        reply["result"] = answer(request["method"], request.get("params") or {})
    except KeyError:
        reply["error"] = {"code": -32601, "message": "there is no such method"}
    print(json.dumps(reply), flush=True)
