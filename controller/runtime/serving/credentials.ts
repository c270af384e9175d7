/** A serving certificate (with its chain) and its private key, both PEM. */
export interface ServingCredentials {
  readonly cert: string;
  readonly key: string;
}
