"""Procedures on partitions."""
