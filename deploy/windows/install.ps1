# Copies the agent and provider-id.ps1 into a folder of this machine, and prints the line that lets the kubelet's own
# start script ask them. It changes no other file. In doubt it changes nothing and ends with exit code 1.
param(
    [string] $Prefix = (Join-Path $env:ProgramFiles 'mooring'),
    [switch] $Uninstall
)
Set-StrictMode -Version 3.0
$ErrorActionPreference = 'Stop'
$names = @('SHA256SUMS', 'VERSION', 'mooring-agent.exe', 'provider-id.ps1')

# Throws unless each file of the list is there and has its sum.
function Confirm-Sums([string] $folder) {
    foreach ($line in @(Get-Content -LiteralPath (Join-Path $folder 'SHA256SUMS'))) {
        if ($line -cnotmatch '\A([0-9a-f]{64})  ([A-Za-z0-9._-]+(?:/[A-Za-z0-9._-]+)*)\z') { throw "SHA256SUMS: $line" }
        $sum, $name = $Matches[1], $Matches[2]
        $found = (Get-FileHash -Algorithm SHA256 -LiteralPath (Join-Path $folder $name)).Hash
        if ($found -ne $sum) { throw "${name}: its sum is not the one in SHA256SUMS" }
    }
}

try {
    $there = Test-Path -LiteralPath $Prefix
    $ours = Test-Path -LiteralPath (Join-Path $Prefix 'SHA256SUMS')
    if ($there -and -not $ours -and @(Get-ChildItem -Force -LiteralPath $Prefix).Count -gt 0) {
        throw "$Prefix is not empty and not ours: choose another folder with -Prefix"
    }
    if ($Uninstall) {
        foreach ($name in $names) {
            $file = Join-Path $Prefix $name
            if (Test-Path -LiteralPath $file) { Remove-Item -LiteralPath $file }
        }
        if ($there -and @(Get-ChildItem -Force -LiteralPath $Prefix).Count -eq 0) { Remove-Item -LiteralPath $Prefix }
        Write-Output "removed; take the line out of the kubelet's start script, too"
        exit 0
    }
    Confirm-Sums $PSScriptRoot
    if (-not $there) { New-Item -ItemType Directory -Path $Prefix | Out-Null }
    foreach ($name in $names) { Copy-Item -LiteralPath (Join-Path $PSScriptRoot $name) -Destination $Prefix -Force }
    $script = (Join-Path $Prefix 'provider-id.ps1') -replace "'", "''"
    Write-Output "installed in $Prefix; put this line before the one that starts the kubelet in C:\k\StartKubelet.ps1:"
    Write-Output "foreach (`$each in & '$script') { `$global:KubeletArgs += `" '`$each'`" }"
    exit 0
} catch {
    [Console]::Error.WriteLine("install.ps1: $($_.Exception.Message)")
    exit 1
}
