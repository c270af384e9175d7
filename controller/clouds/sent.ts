/** What is sent, by the vendor's type: what is undefined is left out. */
export type Sent<T> = T extends object ? { readonly [K in keyof T]: Sent<T[K]> | undefined } : T;
