# Asks the agent beside it for the arguments of this machine's kubelet and prints them, one a line: --provider-id first,
# then what --with asks for. In doubt it prints nothing, says why on stderr, and ends with exit code 1: a providerID can
# be set once in the life of a Node, so a wrong one is worse than none.
# Its arguments are those of `mooring-agent provider-id`, quoted where they have a comma:
#   provider-id.ps1 --cloud=azure '--with=hostname-override,node-ip'
Set-StrictMode -Version 3.0
$ErrorActionPreference = 'Stop'

try {
    $agent = Join-Path $PSScriptRoot 'mooring-agent.exe'
    # Only this output counts; the agent's own reason goes to stderr.
    $lines = @(& $agent provider-id '--output=kubelet-args' '--timeout=30s' $args)
    if ($LASTEXITCODE -ne 0) { throw "the agent does not know the providerID (exit code $LASTEXITCODE)" }
    if (($lines -join '').Length -gt 2048) { throw 'the agent printed too much' }
    if ($lines.Count -lt 1 -or $lines[0] -cnotmatch '\A--provider-id=.') { throw 'the agent printed no --provider-id' }
    foreach ($line in $lines) {
        # No blank, quote, backtick, dollar, semicolon or bar: what is left is text between single quotes anywhere.
        if ($line -cnotmatch '\A--(provider-id|hostname-override|node-ip)=[A-Za-z0-9._:/,@%+~=()-]+\z') {
            throw 'the agent printed something else than arguments'
        }
    }
    if (@($lines -cmatch '\A--provider-id=').Count -ne 1) { throw 'the agent printed --provider-id more than once' }
    $lines
    exit 0
} catch {
    [Console]::Error.WriteLine("mooring: $($_.Exception.Message)")
    exit 1
}
