"""Gibbs sampling of Plackett-Luce at whole reliabilities."""
