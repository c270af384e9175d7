import { basename } from 'node:path';
import { runAsProcess } from '../common/process/run-as-process.ts';
import { controllerProgram, kubectlPlugin, withCommand } from './commands/program.ts';

// kubectl runs a program of this name for `kubectl mooring`.
if (/^kubectl-mooring\b/.test(basename(process.argv[1] ?? ''))) runAsProcess(kubectlPlugin);
else runAsProcess(controllerProgram, withCommand(process.argv.slice(2)));
